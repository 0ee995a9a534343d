import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * Counts work under way, so that whoever does it can leave after the last of it. A set of the promises would do too, but leaves a table
 * behind each time it is laid out anew, each with a link to the next: what was answered would live on in them until the old space is
 * collected, and three quarters of all answers would be copied there first.
 */
export class InFlight {
  private underWay = 0;
  private whenNone: (() => void)[] = [];

  track<T>(work: Promise<T>): Promise<T> {
    this.underWay += 1;
    work.then(this.done, this.done);
    return work;
  }

  /** Resolves when nothing is under way any more, or after `withinMs`. */
  async finished(withinMs: number): Promise<void> {
    const deadline = { isOver: false };
    let timer: NodeJS.Timeout | undefined;
    const over = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        deadline.isOver = true;
        resolve();
      }, withinMs);
    });
    while (this.underWay > 0 && !deadline.isOver) await Promise.race([over, new Promise<void>((resolve) => this.whenNone.push(resolve))]);
    clearTimeout(timer);
    // What a finished work wrote last may still wait for the next turn of the event loop.
    await nextTurn();
  }

  private readonly done = (): void => {
    this.underWay -= 1;
    if (this.underWay === 0) for (const tell of this.whenNone.splice(0)) tell();
  };
}
