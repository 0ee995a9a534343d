/**
 * A token bucket. It is refilled evenly with `points` tokens every `perSeconds` and holds at most `burst` tokens, or
 * `points` if no burst is given. 120 a minute with a burst of 30 is `{ points: 120, perSeconds: 60, burst: 30 }`.
 */
export interface LimitRule {
  /** Rules with the same name share their buckets. If the meaning of a rule changes, its name must change too. */
  name: string;
  points: number;
  perSeconds: number;
  burst?: number;
}

export interface LimitResult {
  allowed: boolean;
  /** The number of tokens of a full bucket. */
  limit: number;
  /** The number of whole tokens that are left now. */
  remaining: number;
  /** Seconds until the same request would be allowed, at least 1; 0 if it was allowed. */
  retryAfterSeconds: number;
  /** Seconds until the bucket is full again if no token is taken meanwhile; rounded up. */
  resetSeconds: number;
}

/** A permit of a concurrency limit. Releasing it twice has no effect. */
export interface Permit {
  release(): void;
}

/** Counts requests against limits. The class is the injection token; `LimitsModule` chooses the implementation. */
export abstract class Limits {
  /**
   * Takes `cost` tokens from the bucket of this rule and key, or none if there are fewer. It does not fail if Redis is
   * unavailable. `key` is an id or an address; it must not be a secret, because Redis stores it.
   */
  abstract consume(rule: LimitRule, key: string, cost?: number): Promise<LimitResult>;

  /** Returns the state of a bucket as far as this process knows it. Other processes are not asked. */
  abstract peek(rule: LimitRule, key: string): LimitResult;

  /** Returns tokens that were taken for an operation that was not executed. The caller does not wait for it. */
  abstract putBack(rule: LimitRule, key: string, cost?: number): void;

  /**
   * Acquires one of the `max` permits of this name and key; null if all are held. It does not fail if Redis is
   * unavailable.
   */
  abstract acquire(name: string, key: string, max: number): Promise<Permit | null>;
}
