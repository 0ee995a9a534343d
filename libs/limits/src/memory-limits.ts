import { bucketOf, resultOf } from './token-bucket.js';
import { Limits, type LimitRule, type LimitResult, type Permit } from './limits.js';

const SWEEP_INTERVAL_MICROS = 10_000_000;
/** About 20 MB. Beyond this number the least recently used bucket is dropped, which makes it full. */
const MAX_BUCKETS = 100_000;

/** Counts in this process with a monotonic clock. */
export class MemoryLimits extends Limits {
  /** When each bucket will be full, in the order of the last use. Full buckets are not stored. */
  private readonly fullAt = new Map<string, number>();
  private sweepAt = 0;
  /** The number of permits held for each key. Keys without permits are not stored. */
  private readonly permits = new Map<string, number>();

  constructor(private readonly nowMicros: () => number = () => Math.floor(performance.now() * 1000)) {
    super();
  }

  consume(rule: LimitRule, key: string, cost = 1): Promise<LimitResult> {
    return Promise.resolve(this.take(rule, key, cost));
  }

  take(rule: LimitRule, key: string, cost: number): LimitResult {
    const bucket = bucketOf(rule);
    // If the rule was made smaller, a stored bucket may lack more than the new bucket can hold.
    const lack = Math.min(this.lackOf(rule, key), bucket.spanMicros);
    const after = lack + cost * bucket.tokenMicros;
    const allowed = after <= bucket.spanMicros;
    if (allowed) this.keep(rule, key, after);
    return resultOf(bucket, allowed, allowed ? after : lack, cost);
  }

  peek(rule: LimitRule, key: string): LimitResult {
    return this.take(rule, key, 0);
  }

  putBack(rule: LimitRule, key: string, cost = 1): void {
    this.keep(rule, key, Math.max(0, this.lackOf(rule, key) - cost * bucketOf(rule).tokenMicros));
  }

  acquire(name: string, key: string, max: number): Promise<Permit | null> {
    return Promise.resolve(this.takePermit(name, key, max));
  }

  takePermit(name: string, key: string, max: number): Permit | null {
    const id = `${name}:${key}`;
    const held = this.permits.get(id) ?? 0;
    if (held >= max) return null;
    this.permits.set(id, held + 1);
    let isHeld = true;
    return {
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        const left = this.permits.get(id)! - 1;
        if (left === 0) this.permits.delete(id);
        else this.permits.set(id, left);
      },
    };
  }

  /** Applies what other processes have taken from the same bucket. */
  lackAtLeast(rule: LimitRule, key: string, lackMicros: number): void {
    if (this.lackOf(rule, key) < lackMicros) this.keep(rule, key, lackMicros);
  }

  /** The number of buckets that are not full and of keys with permits. */
  get size(): number {
    return this.fullAt.size + this.permits.size;
  }

  private lackOf(rule: LimitRule, key: string): number {
    return Math.max(0, (this.fullAt.get(idOf(rule, key)) ?? 0) - this.nowMicros());
  }

  private keep(rule: LimitRule, key: string, lackMicros: number): void {
    const id = idOf(rule, key);
    const now = this.nowMicros();
    this.fullAt.delete(id);
    if (lackMicros > 0) this.fullAt.set(id, now + lackMicros);
    if (now >= this.sweepAt) this.sweep(now);
    if (this.fullAt.size > MAX_BUCKETS) this.fullAt.delete(this.fullAt.keys().next().value!);
  }

  private sweep(now: number): void {
    this.sweepAt = now + SWEEP_INTERVAL_MICROS;
    for (const [id, fullAt] of this.fullAt) if (fullAt <= now) this.fullAt.delete(id);
  }
}

function idOf(rule: LimitRule, key: string): string {
  return `${rule.name}:${key}`;
}
