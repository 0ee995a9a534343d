import { setImmediate as nextTurn } from 'node:timers/promises';

/** Counts work under way, so that whoever does it can leave after the last of it. */
export class InFlight {
  private readonly works = new Set<Promise<unknown>>();

  track<T>(work: Promise<T>): Promise<T> {
    this.works.add(work);
    const done = (): void => void this.works.delete(work);
    work.then(done, done);
    return work;
  }

  /** Resolves when nothing is under way any more, or after `withinMs`. */
  async finished(withinMs: number): Promise<void> {
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), withinMs);
    const expired = new Promise<void>((resolve) => deadline.signal.addEventListener('abort', () => resolve()));
    while (this.works.size > 0 && !deadline.signal.aborted) await Promise.race([Promise.allSettled(this.works), expired]);
    clearTimeout(timer);
    // What a finished work wrote last may still wait for the next turn of the event loop.
    await nextTurn();
  }
}
