import type { Clock } from '@market/kernel';

/** A clock that stands still until a test moves it. */
export class TestClock implements Clock {
  private ms: number;

  constructor(start: Date | string = '2026-01-01T00:00:00.000Z') {
    this.ms = new Date(start).getTime();
  }

  now(): Date {
    return new Date(this.ms);
  }

  advance(ms: number): void {
    this.ms += ms;
  }

  set(instant: Date | string): void {
    this.ms = new Date(instant).getTime();
  }
}
