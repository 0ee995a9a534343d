import type { Clock } from '../src/clock.js';

/** Time that passes only by sleeping, at once. */
export class TestClock implements Clock {
  readonly slept: number[] = [];
  #now = 1_700_000_000_000;

  now(): number {
    return this.#now;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    this.slept.push(ms);
    this.#now += ms;
  }
}
