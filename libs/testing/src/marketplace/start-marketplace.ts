import { eventually } from '@market/test-servers';
import { startDistributed } from './distributed.js';
import type { MarketplaceOptions, RunningMarketplace } from './running-marketplace.js';
import { startStandalone } from './standalone.js';

/** Cheap proofs of work, sellers on this machine, rates out of reach; everything else as shipped. */
const TEST_SETTINGS = {
  HOST: '127.0.0.1',
  LOG_LEVEL: 'warn',
  RATE_LIMITS:
    'reads=1000000/1,writes=1000000/1,calls=1000000/1,retries=1000000/1,calls-in-flight=1000000,catalog=1000000/1,challenges=1000000/1,registrations=1000000/1,refusals=1000000/1',
  PAYMENTS_MODE: 'sandbox',
  ALLOW_PRIVATE_ENDPOINTS: 'true',
  REGISTRATION_POW_DIFFICULTY: '1',
  LISTING_POW_DIFFICULTY: '1',
  CATALOG_LISTINGS_PER_POW_STEP: '100000',
};

/**
 * Starts what `npm run build` built, on free ports and with data of its own, and waits until it takes requests.
 * @throws Error with the output of the process that did not start.
 */
export async function startMarketplace({
  mode,
  env = {},
  ...options
}: MarketplaceOptions): Promise<RunningMarketplace> {
  const settings = { ...TEST_SETTINGS, ...env };
  const marketplace = await (mode === 'standalone' ? startStandalone(settings) : startDistributed(settings, options));
  // Ready is what a process says of itself; this is what a client sees.
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
