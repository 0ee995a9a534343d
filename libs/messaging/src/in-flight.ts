import { EventEmitter, once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * Counts operations in flight, so that a closing service can wait for the last of them. It is a counter because a set
 * of promises keeps finished answers alive in its old hash tables until a major garbage collection.
 */
export class InFlight {
  private count = 0;
  private readonly ends = new EventEmitter();

  track<T>(work: Promise<T>): Promise<T> {
    this.count += 1;
    work.then(this.done, this.done);
    return work;
  }

  /** Resolves when nothing is in flight any more, or after `withinMs`. */
  async finished(withinMs: number): Promise<void> {
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), withinMs);
    while (this.count > 0 && !deadline.signal.aborted)
      await once(this.ends, 'last', { signal: deadline.signal }).catch(() => undefined);
    clearTimeout(timer);
    // The last write of a finished operation may still be pending until the next turn of the event loop.
    await nextTurn();
  }

  private readonly done = (): void => {
    this.count -= 1;
    if (this.count === 0) this.ends.emit('last');
  };
}
