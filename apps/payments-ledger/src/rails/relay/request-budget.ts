import { LRUCache } from 'lru-cache';

const WINDOW_MS = 60_000;
/** One buyer gets at most this part of a budget, so that it cannot use up everybody's. */
const BUYERS_PART = 1 / 4;
/** This part is left for requests about money that is said to have arrived. */
const RESERVED_PART = 1 / 5;
const MAX_BUYERS = 10_000;

/**
 * Limits the requests to another party per minute, in all and by buyer, and pauses them if that party requests it. Times
 * are those of a monotonic clock.
 */
export class RequestBudget {
  private readonly sent: number[] = [];
  private readonly sentFor = new LRUCache<string, number[]>({ max: MAX_BUYERS });
  private restUntil = -Infinity;

  constructor(
    private readonly perMinute: number,
    private readonly elapsed: () => number = () => performance.now(),
  ) {}

  /**
   * Takes a request from the budget.
   * @param isUrgent whether it may use what is reserved, and more than the buyer's part.
   * @returns 0, or the number of seconds until the next request is available.
   */
  take(buyerId: string, isUrgent = false): number {
    const now = this.elapsed();
    const sentFor = this.sentFor.get(buyerId) ?? [];
    const unreserved = Math.ceil(this.perMinute * (1 - RESERVED_PART));
    const freeAt = isUrgent
      ? freeFrom(this.sent, this.perMinute, now)
      : Math.max(freeFrom(this.sent, unreserved, now), freeFrom(sentFor, Math.ceil(this.perMinute * BUYERS_PART), now));
    const waitMs = Math.max(this.restUntil, freeAt) - now;
    if (waitMs > 0) return Math.ceil(waitMs / 1000);
    this.sent.push(now);
    sentFor.push(now);
    this.sentFor.set(buyerId, sentFor);
    return 0;
  }

  rest(seconds: number): void {
    this.restUntil = Math.max(this.restUntil, this.elapsed() + seconds * 1000);
  }
}

/** When one more request fits into a minute with `limit` of them. Requests that are older are forgotten. */
function freeFrom(sent: number[], limit: number, now: number): number {
  while (sent[0] !== undefined && sent[0] <= now - WINDOW_MS) sent.shift();
  return sent.length < limit ? now : sent[sent.length - limit]! + WINDOW_MS;
}
