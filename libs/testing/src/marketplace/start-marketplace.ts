import { eventually } from '@market/test-servers';
import { startDistributed } from './distributed.js';
import { OPERATOR } from './operator.js';
import type { MarketplaceOptions, RunningMarketplace } from './running-marketplace.js';
import { startStandalone } from './standalone.js';

/**
 * Inexpensive proofs of work, and sellers on this machine. All other settings are the defaults, except for rate limits
 * that no client reaches: all tests use one address, from which every agent is registered, and the adversarial tests
 * send thousands of reads and writes as one account.
 */
const TEST_SETTINGS = {
  HOST: '127.0.0.1',
  LOG_LEVEL: 'warn',
  RATE_LIMITS: ['registrations', 'challenges', 'catalog', 'refusals', 'reads', 'writes', 'deliveries']
    .map((name) => `${name}=1000000/1`)
    .join(','),
  OPERATORS: OPERATOR.address,
  PAYMENTS_MODE: 'sandbox',
  ALLOW_PRIVATE_ENDPOINTS: 'true',
  REGISTRATION_POW_DIFFICULTY: '1',
  LISTING_POW_DIFFICULTY: '1',
  CATALOG_LISTINGS_PER_POW_STEP: '100000',
};

/**
 * Starts the output of `npm run build`, on free ports and with separate data, and waits until it accepts requests.
 * @throws Error with the output of the process that did not start.
 */
export async function startMarketplace({
  mode,
  env = {},
  ...options
}: MarketplaceOptions): Promise<RunningMarketplace> {
  const settings = { ...TEST_SETTINGS, ...env };
  const marketplace = await (mode === 'standalone' ? startStandalone(settings) : startDistributed(settings, options));
  // The process reports that it is ready; this checks what a client sees.
  await eventually(() => assertHealthy(marketplace.baseUrl), { withinMs: 10_000 }).catch(async (error: unknown) => {
    await marketplace.stop();
    throw error;
  });
  return marketplace;
}

async function assertHealthy(baseUrl: string): Promise<void> {
  const response = await fetch(`${baseUrl}/api/v1/health`, { signal: AbortSignal.timeout(5_000) });
  if (!response.ok) throw new Error(`GET /health answers ${response.status}`);
}
