import { newId } from '@market/kernel';
import { Jobs } from '@market/runtime';
import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { ReconcileSettlements } from './reconcile-settlements.js';

/** Longer than any payment can take. Older payments were reconciled already, or are left to `books reconcile`. */
const WINDOW_MS = 35 * 86_400_000;
const RUN_MS = 60_000;

/**
 * Reconciles each settlement once, some time after it, and unexplained ones again every day. Processes that do this at
 * the same time repeat each other's work.
 */
@Injectable()
export class ReconcileSettlementsJob implements OnApplicationBootstrap {
  private readonly logger = new Logger('ReconcileSettlements');

  constructor(
    private readonly settlements: ReconcileSettlements,
    private readonly jobs: Jobs,
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.every('reconcile-settlements', this.config.reconcileIntervalMs, () => this.run());
  }

  /** Ends early if no party answers. The next run starts again. */
  async run(): Promise<void> {
    let after = newId(Date.now() - WINDOW_MS);
    for (const until = Date.now() + RUN_MS; Date.now() < until;) {
      const page = await this.settlements.page(after, this.config.reconcileIntervalMs);
      for (const { payment, outcome, why } of page)
        if (outcome === 'unexplained')
          this.logger.error(`the settlement of payment ${payment.id} is unexplained: ${why}`);
      if (page.length === 0 || page.every(({ outcome }) => outcome === 'unknown')) return;
      after = page.at(-1)!.payment.id;
    }
  }
}
