const WINDOW_MS = 60_000;

/** How many requests another party takes of us in any minute, and the rest it asks for beyond that. In milliseconds of a clock that nobody turns back. */
export class RequestBudget {
  private readonly sent: number[] = [];
  private restUntil = -Infinity;

  constructor(
    private readonly perMinute: number,
    private readonly elapsed: () => number = () => performance.now(),
  ) {}

  /** Takes one where there is one. @returns 0, or after how many seconds to ask again. */
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
