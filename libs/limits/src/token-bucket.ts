import { invariant } from '@market/kernel';
import type { LimitRule, LimitResult } from './limits.js';

/**
 * A bucket is stored as what it lacks: the microseconds until it is full again. Its state is therefore one time, no
 * timer has to fill it, and whole microseconds are exact where fractions of tokens would not be. This is the generic
 * cell rate algorithm (ITU-T I.371) in its virtual scheduling form.
 */
export interface Bucket {
  /** The time in which one token is added. */
  tokenMicros: number;
  /** The time in which an empty bucket fills. A bucket never lacks more than this. */
  spanMicros: number;
}

export function bucketOf({ name, points, perSeconds, burst = points }: LimitRule): Bucket {
  const tokenMicros = Math.floor((perSeconds * 1_000_000) / points);
  invariant(tokenMicros >= 1 && Number.isInteger(burst) && burst >= 1, `${name} is a rule that something satisfies`);
  return { tokenMicros, spanMicros: tokenMicros * burst };
}

/** @param lackMicros what the bucket lacks after the request. */
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
