import { eventually } from '../eventually.js';
import { startDistributed } from './distributed.js';
import type { MarketplaceOptions, RunningMarketplace } from './running-marketplace.js';
import { startStandalone } from './standalone.js';

/** Cheap proofs of work, sellers on this machine, quick sweepers; everything else as shipped. */
const TEST_SETTINGS = {
  HOST: '127.0.0.1',
  LOG_LEVEL: 'warn',
  RATE_LIMITS: 'off',
  PAYMENTS_MODE: 'sandbox',
  ALLOW_PRIVATE_ENDPOINTS: 'true',
  REGISTRATION_POW_DIFFICULTY: '1',
  LISTING_POW_DIFFICULTY: '1',
};

/**
 * Starts what `npm run build` built, on free ports and with data of its own, and waits until it takes requests.
 * @throws Error with the output of the process that did not start.
 */
export async function startMarketplace({ mode, env = {}, replicas = {} }: MarketplaceOptions): Promise<RunningMarketplace> {
  const settings = { ...TEST_SETTINGS, ...env };
  const marketplace = await (mode === 'standalone' ? startStandalone(settings) : startDistributed(settings, replicas));
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
