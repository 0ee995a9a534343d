import type { ServiceName } from '@market/contracts';
import { eventually } from '../eventually.js';
import { startDistributed } from './distributed.js';
import { startStandalone } from './standalone.js';

/** What is killed and restarted: one service, or the process that holds all of them. */
export type ProcessName = ServiceName | 'standalone';

/** A whole marketplace, seen from outside. */
export interface RunningMarketplace {
  readonly mode: 'standalone' | 'distributed';
  /** `http://127.0.0.1:<port>`; the API is under `/api/v1`. */
  readonly baseUrl: string;
  /** Everything it stores, as the owner of every schema. */
  readonly databaseUrl: string;
  readonly processes: readonly ProcessName[];
  /** Ends a process as a crash does, unless another signal is named, and waits until it is gone. @returns its exit code, null where a signal ended it. */
  kill(name: ProcessName, signal?: NodeJS.Signals): Promise<number | null>;
  /** Starts a process that was killed, or stops one in order first; waits until it is ready. */
  restart(name: ProcessName): Promise<void>;
  /** What a process wrote so far, over all its lives. */
  logs(name: ProcessName): string;
  pid(name: ProcessName): number | undefined;
  /** Stops it in order and removes what it stored. */
  stop(): Promise<void>;
}

export interface MarketplaceOptions {
  mode: 'standalone' | 'distributed';
  /** Beside and instead of the settings of a test, for every process. */
  env?: Record<string, string>;
}

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
export async function startMarketplace({ mode, env = {} }: MarketplaceOptions): Promise<RunningMarketplace> {
  const settings = { ...TEST_SETTINGS, ...env };
  const marketplace = await (mode === 'standalone' ? startStandalone(settings) : startDistributed(settings));
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
