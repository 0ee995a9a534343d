import { LRUCache } from 'lru-cache';

const MAX_ENTRIES = 10_000;

/**
 * A cache of the results of `load`, read with `forceFetch`. Concurrent reads of a key share one load, and failures are
 * not cached. An entry is at most `ttlMs` old, counted from the start of the load. `delete` drops it earlier. A load in
 * progress then still answers its readers but is not cached.
 */
export function lookupCache<V extends object | string | false, C = undefined>(
  ttlMs: number,
  load: (key: string, context: C) => Promise<V>,
): LRUCache<string, V, C> {
  return new LRUCache<string, V, C>({
    max: MAX_ENTRIES,
    ttl: ttlMs,
    ttlResolution: 0,
    ignoreFetchAbort: true,
    async fetchMethod(key, _stale, { options, context }) {
      const askedAt = performance.now();
      const value = await load(key, context);
      // The library counts from now, and treats zero as no limit.
      options.ttl = Math.max(askedAt + ttlMs - performance.now(), Number.MIN_VALUE);
      return value;
    },
  });
}
