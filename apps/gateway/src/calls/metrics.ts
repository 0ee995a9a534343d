import { Counter, Gauge, Histogram } from 'prom-client';
import type { SellerFailureReason } from '../egress/seller-outcome.js';

type Step = 'quoted' | 'paid' | 'authorized' | 'delivered' | 'settled' | 'not_billable';

/**
 * Counts the steps of calls that are not free. `quoted`: a payment was asked for. `paid`: the first
 * attempt at a paid call. `authorized`: any attempt. `delivered`: a billable answer was stored. `settled`:
 * the ledger confirmed the charge. `not_billable`: the seller failed, with the reason.
 */
const steps = new Counter({
  name: 'market_call_steps_total',
  help: 'Steps of calls that cost something: quoted, paid, authorized, delivered, settled, or not_billable with its reason',
  labelNames: ['step', 'reason'] as const,
});

export const countStep = (step: Step, reason: SellerFailureReason | '' = ''): void => steps.inc({ step, reason });

const partSeconds = new Histogram({
  name: 'market_call_part_duration_seconds',
  help: 'Parts of calls whose seller was called: seller, settlement and ours',
  labelNames: ['part'] as const,
  buckets: [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120],
});

/** Measures how the time of one attempt is spent, from its lock to its answer. */
export class CallTime {
  private readonly startedAt = performance.now();
  private elsewhereMs = 0;

  add(part: 'seller' | 'settlement', ms: number): void {
    this.elsewhereMs += ms;
    partSeconds.observe({ part }, ms / 1_000);
  }

  async during<T>(part: 'seller' | 'settlement', work: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    return work().finally(() => this.add(part, performance.now() - startedAt));
  }

  /** Records the time that neither the seller nor the settlement took as `ours`. */
  end(): void {
    partSeconds.observe({ part: 'ours' }, Math.max(0, performance.now() - this.startedAt - this.elsewhereMs) / 1_000);
  }
}

/**
 * The value that the resume job of this process found last. Calls that were delivered within the last 1.5 seconds are
 * left out.
 */
export const oldestUnsettledSeconds = new Gauge({
  name: 'market_unsettled_calls_oldest_seconds',
  help: 'Age of the oldest call that was delivered and is not settled',
});
