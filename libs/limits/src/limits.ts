/**
 * A token bucket: it fills with `points` tokens every `perSeconds`, evenly, and holds `burst` of them at most, or
 * `points` where no burst is named. 120 a minute with a burst of 30 is `{ points: 120, perSeconds: 60, burst: 30 }`.
 */
export interface LimitRule {
  /** Buckets of one name are shared by everything that counts by it; whoever changes a rule's meaning changes its name. */
  name: string;
  points: number;
  perSeconds: number;
  burst?: number;
}

export interface LimitResult {
  allowed: boolean;
  /** Tokens a full bucket holds. */
  limit: number;
  /** Whole tokens that are left now. */
  remaining: number;
  /** Until the same would be allowed, at least 1; 0 when it was allowed. */
  retryAfterSeconds: number;
  /** Until the bucket is full again, were nothing taken meanwhile; rounded up. */
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

  /** What this process knows of a bucket by what it took from it; other processes are not asked. */
  abstract peek(rule: LimitRule, key: string): LimitResult;

  /** Returns tokens that were taken for an operation that was not executed. The caller does not wait for it. */
  abstract putBack(rule: LimitRule, key: string, cost?: number): void;

  /** Acquires one of the `max` permits of this name and key; null if all are held. It does not fail if Redis is unavailable. */
  abstract acquire(name: string, key: string, max: number): Promise<Permit | null>;
}
