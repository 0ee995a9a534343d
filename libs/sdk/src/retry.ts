import type { Clock } from './clock.js';
import { MarketplaceError } from './errors.js';

/** For how long a request is repeated. */
export interface RetryLimits {
  clock: Clock;
  /** Milliseconds since the epoch. */
  deadline: number;
  signal?: AbortSignal;
}

const MAX_BACKOFF_SECONDS = 10;

/**
 * Repeats a request for as long as its failure is temporary.
 * @throws the last failure when the deadline leaves no time for another try.
 */
export async function retry<T>(request: () => Promise<T>, limits: RetryLimits): Promise<T> {
  for (let failures = 0; ;) {
    try {
      return await request();
    } catch (error) {
      if (!(error instanceof MarketplaceError) || !error.isTemporary) throw error;
      await pause(error.retryAfterSeconds ?? backoffSeconds((failures += 1)), error, limits);
    }
  }
}

/** @throws `giveUp` when the deadline would pass before the wait ends. */
export async function pause(
  seconds: number,
  giveUp: MarketplaceError,
  { clock, deadline, signal }: RetryLimits,
): Promise<void> {
  const ms = Math.max(50, seconds * 1000);
  if (clock.now() + ms >= deadline) throw giveUp;
  try {
    await clock.sleep(ms, signal);
  } catch (cause) {
    throw new MarketplaceError({ status: 0, code: 'ABORTED', message: 'The call was cancelled.', cause });
  }
}

export const backoffSeconds = (failures: number): number => Math.min(MAX_BACKOFF_SECONDS, 0.25 * 2 ** (failures - 1));
