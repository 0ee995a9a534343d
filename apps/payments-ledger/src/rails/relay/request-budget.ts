const WINDOW_MS = 60_000;

/**
 * Limits the requests to another party per minute, and pauses them if that party requests it. Times are those of a
 * monotonic clock.
 */
export class RequestBudget {
  private readonly sent: number[] = [];
  private restUntil = -Infinity;

  constructor(
    private readonly perMinute: number,
    private readonly elapsed: () => number = () => performance.now(),
  ) {}

  /** Takes a request from the budget. @returns 0, or the number of seconds until the next request is available. */
  take(): number {
    const now = this.elapsed();
    while (this.sent[0] !== undefined && this.sent[0] <= now - WINDOW_MS) this.sent.shift();
    const freeAt = Math.max(this.restUntil, this.sent.length < this.perMinute ? now : this.sent[0]! + WINDOW_MS);
    if (freeAt > now) return Math.ceil((freeAt - now) / 1000);
    this.sent.push(now);
    return 0;
  }

  rest(seconds: number): void {
    this.restUntil = Math.max(this.restUntil, this.elapsed() + seconds * 1000);
  }
}
