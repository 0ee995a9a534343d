import { setTimeout as delay } from 'node:timers/promises';

/** Shares work within this process: a request for a key whose work is in progress waits for that work. */
export class SingleFlight<T> {
  private readonly inFlight = new Map<string, Promise<T>>();

  /**
   * Starts the work, or waits for it until `joinUntil` if it is in progress.
   * @returns null if work that was in progress has not ended by then.
   */
  run(key: string, work: () => Promise<T>, joinUntil: number): Promise<T | null> {
    const joined = this.inFlight.get(key);
    if (joined) return orNull(joined, joinUntil);
    const started = work().finally(() => this.inFlight.delete(key));
    this.inFlight.set(key, started);
    return started;
  }
}

/**
 * The result of `work`, or null at the given time. The timer is aborted after the wait, because it would keep the
 * result in memory.
 */
async function orNull<T>(work: Promise<T>, at: number): Promise<T | null> {
  const wait = new AbortController();
  const timeUp = delay(Math.max(0, at - Date.now()), null, { ref: false, signal: wait.signal }).catch(() => null);
  try {
    return await Promise.race([work, timeUp]);
  } finally {
    wait.abort();
  }
}
