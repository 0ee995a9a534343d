import { LRUCache } from 'lru-cache';

interface Entry<V> {
  value: Promise<V>;
  staleAt: number;
}

/**
 * Remembers what was looked up for a moment, and lets go when told to. Concurrent look-ups of a key share one load.
 * The hard limit on age is what correctness rests on; being told only makes it sooner. Failures are not remembered.
 */
export class ShortCache<V> {
  private readonly entries: LRUCache<string, Entry<V>>;

  constructor(private readonly options: { ttlMs: number; maxEntries: number; now?: () => number }) {
    this.entries = new LRUCache({ max: options.maxEntries });
  }

  get(key: string, load: () => Promise<V>): Promise<V> {
    const now = this.options.now?.() ?? Date.now();
    const known = this.entries.get(key);
    if (known && known.staleAt > now) return known.value;
    const entry = { value: load(), staleAt: now + this.options.ttlMs };
    this.entries.set(key, entry);
    entry.value.catch(() => {
      if (this.entries.get(key) === entry) this.entries.delete(key);
    });
    return entry.value;
  }

  /** A load that is on its way for this key is answered to those who wait for it, and not remembered. */
  drop(key: string): void {
    this.entries.delete(key);
  }
}
