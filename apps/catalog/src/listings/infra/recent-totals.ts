const FRESH_FOR_MS = 1_000;
const MOST = 1_000;

/** Exact totals of large results, at most a second old and counted once however many ask. */
export class RecentTotals {
  private readonly totals = new Map<string, { until: number; total: Promise<number> }>();

  has(key: string): boolean {
    const known = this.totals.get(key);
    return known !== undefined && Date.now() < known.until;
  }

  get(key: string, count: () => Promise<number>): Promise<number> {
    const known = this.totals.get(key);
    if (known && Date.now() < known.until) return known.total;
    if (this.totals.size >= MOST) this.totals.clear();
    const counted = { until: Date.now() + FRESH_FOR_MS, total: count() };
    this.totals.set(key, counted);
    counted.total.catch(() => this.totals.delete(key));
    return counted.total;
  }
}
