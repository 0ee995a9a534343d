import type { PriceSource } from './price-source.js';
import type { UnitPrice } from './unit-price.js';

/** What the time is, and how much has passed, whatever is done to the clock. In milliseconds. */
export interface Timepiece {
  now(): number;
  elapsed(): number;
}

const systemTime: Timepiece = { now: () => Date.now(), elapsed: () => performance.now() };

/** How far a source's clock may be ahead of ours. */
const AHEAD_MS = 60_000;
/** How long a source that failed is left alone by quotes. */
export const RETRY_AFTER_SECONDS = 5;

interface Reading {
  price: UnitPrice & { at: Date };
  ageWhenRead: number;
  readAt: number;
}

/** The latest price of one source. One that is too old, or of the future, is none; turning the clock back makes none younger. */
export class WatchedPrice {
  private last?: Reading;
  private reading?: Promise<UnitPrice | null>;
  private failedAt = -Infinity;

  constructor(
    private readonly source: PriceSource,
    private readonly maxAgeMs: number,
    private readonly onChange: (problem: string | null) => void = () => {},
    private readonly time: Timepiece = systemTime,
  ) {}

  /** At once while it is fresh; else one reading, however many ask. Null where that brings nothing either. */
  async get(): Promise<UnitPrice | null> {
    if (this.last && this.isFresh(this.last)) return this.last.price;
    if (!this.reading && this.time.elapsed() - this.failedAt < RETRY_AFTER_SECONDS * 1000) return null;
    return this.refresh();
  }

  /** Never rejects. */
  refresh(): Promise<UnitPrice | null> {
    this.reading ??= this.read().finally(() => (this.reading = undefined));
    return this.reading;
  }

  private async read(): Promise<UnitPrice | null> {
    try {
      const { micros, at } = await this.source.read();
      const reading = { price: { micros, at }, ageWhenRead: this.time.now() - at.getTime(), readAt: this.time.elapsed() };
      if (!this.isFresh(reading)) throw new Error(`its price is of ${at.toISOString()}`);
      const isNews = !this.last || !this.isFresh(this.last) || at >= this.last.price.at;
      if (isNews) this.last = reading;
      if (this.failedAt !== -Infinity) this.onChange(null);
      this.failedAt = -Infinity;
      return this.last!.price;
    } catch (error) {
      if (this.failedAt === -Infinity) this.onChange((error as Error).message);
      this.failedAt = this.time.elapsed();
      return this.last && this.isFresh(this.last) ? this.last.price : null;
    }
  }

  private isFresh({ price, ageWhenRead, readAt }: Reading): boolean {
    const age = this.time.now() - price.at.getTime();
    return age >= -AHEAD_MS && Math.max(age, ageWhenRead + this.time.elapsed() - readAt) <= this.maxAgeMs;
  }
}
