import { EventEmitter, once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * Counts work under way, so that whoever does it can leave after the last of it. A set of the promises would do too, but leaves a table
 * behind each time it is laid out anew, each with a link to the next: what was answered would live on in them until the old space is
 * collected, and three quarters of all answers would be copied there first.
 */
export class InFlight {
  private underWay = 0;
  private readonly ends = new EventEmitter();

  track<T>(work: Promise<T>): Promise<T> {
    this.underWay += 1;
    work.then(this.done, this.done);
    return work;
  }

  /** Resolves when nothing is under way any more, or after `withinMs`. */
  async finished(withinMs: number): Promise<void> {
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), withinMs);
    while (this.underWay > 0 && !deadline.signal.aborted)
      await once(this.ends, 'last', { signal: deadline.signal }).catch(() => undefined);
    clearTimeout(timer);
    // What a finished work wrote last may still wait for the next turn of the event loop.
    await nextTurn();
  }

  private readonly done = (): void => {
    this.underWay -= 1;
    if (this.underWay === 0) this.ends.emit('last');
  };
}
