import { LRUCache } from 'lru-cache';

const MAX_ENTRIES = 10_000;

/**
 * A cache of what `load` finds, read with `forceFetch`. Concurrent reads of a key share one load, and failures are not kept.
 * An entry is at most `ttlMs` old, counted from the question: what was true when its owner looked may be over when the
 * answer arrives. `delete` drops it earlier; a load that is under way then still answers its readers, and is not kept.
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
      // The library counts from now. Zero would mean for ever.
      options.ttl = Math.max(askedAt + ttlMs - performance.now(), Number.MIN_VALUE);
      return value;
    },
  });
}
