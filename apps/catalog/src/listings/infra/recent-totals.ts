const FRESH_FOR_MS = 1_000;
const MOST = 1_000;

interface Counted {
  total: Promise<number>;
  /** Set once counted: nobody starts a second count meanwhile. */
  freshUntil: number | undefined;
}

/** Exact totals of large results: counted once however many ask, and again a second after that. */
export class RecentTotals {
  private readonly totals = new Map<string, Counted>();

  has(key: string): boolean {
    const known = this.totals.get(key);
    return known !== undefined && (known.freshUntil === undefined || Date.now() < known.freshUntil);
  }

  get(key: string, count: () => Promise<number>): Promise<number> {
    if (this.has(key)) return this.totals.get(key)!.total;
    if (this.totals.size >= MOST) this.totals.clear();
    const counted: Counted = { total: count(), freshUntil: undefined };
    this.totals.set(key, counted);
    counted.total.then(
      () => (counted.freshUntil = Date.now() + FRESH_FOR_MS),
      () => this.totals.delete(key),
    );
    return counted.total;
  }
}
