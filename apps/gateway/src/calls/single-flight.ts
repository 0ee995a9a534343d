import { setTimeout as delay } from 'node:timers/promises';

/** Work of this process by key: a request for work that is in flight joins it. */
export class SingleFlight<T> {
  private readonly inFlight = new Map<string, Promise<T>>();

  /** Starts the work, or joins it until the given time. @returns null where it was joined and has not ended by then. */
  run(key: string, work: () => Promise<T>, joinUntil: number): Promise<T | null> {
    const joined = this.inFlight.get(key);
    if (joined) return orNull(joined, joinUntil);
    const started = work().finally(() => this.inFlight.delete(key));
    this.inFlight.set(key, started);
    return started;
  }
}

/** What `work` comes to, or null at the given time. The timer ends with the wait: until then it would keep the result. */
async function orNull<T>(work: Promise<T>, at: number): Promise<T | null> {
  const wait = new AbortController();
  const timeUp = delay(Math.max(0, at - Date.now()), null, { ref: false, signal: wait.signal }).catch(() => null);
  try {
    return await Promise.race([work, timeUp]);
  } finally {
    wait.abort();
  }
}
