import { invariant } from '@market/kernel';
import type { LimitRule, LimitResult } from './limits.js';

/**
 * A bucket is measured by what it lacks: the microseconds until it is full again. So its state is one instant, nothing has
 * to be filled by a timer, and whole microseconds are exact where a fraction of a token would not be. This is the generic
 * cell rate algorithm (ITU-T I.371) in its virtual scheduling form.
 */
export interface Bucket {
  /** In which one token comes. */
  tokenMicros: number;
  /** In which an empty bucket fills; it lacks no more than this. */
  spanMicros: number;
}

export function bucketOf({ name, points, perSeconds, burst = points }: LimitRule): Bucket {
  const tokenMicros = Math.floor((perSeconds * 1_000_000) / points);
  invariant(tokenMicros >= 1 && Number.isInteger(burst) && burst >= 1, `${name} is a rule that something satisfies`);
  return { tokenMicros, spanMicros: tokenMicros * burst };
}

/** @param lackMicros what the bucket lacks after it was asked. */
export function resultOf(bucket: Bucket, allowed: boolean, lackMicros: number, cost: number): LimitResult {
  const { tokenMicros, spanMicros } = bucket;
  return {
    allowed,
    limit: spanMicros / tokenMicros,
    remaining: Math.floor((spanMicros - lackMicros) / tokenMicros),
    retryAfterSeconds: allowed ? 0 : Math.max(1, wholeSeconds(lackMicros + cost * tokenMicros - spanMicros)),
    resetSeconds: wholeSeconds(lackMicros),
  };
}

function wholeSeconds(micros: number): number {
  return Math.ceil(micros / 1_000_000);
}
