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

export interface LimitVerdict {
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

/** The right to do one of so many things at once. Releasing it again does nothing. */
export interface Permit {
  release(): void;
}

/** What a caller may do, counted. The class is the injection token; `LimitsModule` decides which of them counts. */
export abstract class Limits {
  /**
   * Takes `cost` tokens from the bucket of this rule and key, or none when there are not so many. Never fails because of
   * where it counts. `key` is an id of ours or an address: not a secret, since it may be kept in Redis as it is.
   */
  abstract consume(rule: LimitRule, key: string, cost?: number): Promise<LimitVerdict>;

  /** Puts tokens back that were taken for something that was not done after all. Nothing waits for it. */
  abstract putBack(rule: LimitRule, key: string, cost?: number): void;

  /** Takes one of the `max` permits of this name and key; null when all of them are held. Never fails because of where it counts. */
  abstract acquire(name: string, key: string, max: number): Promise<Permit | null>;
}
