import { newCall } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { PAYMENT_RAILS, type PaymentRail } from '../rails/payment-rail.js';
import { messageOf } from './message-of.js';
import { ObservePayment } from './observe-payment.js';

const A_RUN = 100;
const AT_ONCE = 8;

/** Replicas share them; what a crash leaves behind is looked at five minutes later. */
const take = sql(
  'payments.take-to-look-again',
  `UPDATE payments SET look_again_at = now() + interval '5 minutes'
   WHERE id IN (SELECT id FROM payments WHERE look_again_at <= now() AND state IN ('expired', 'failed', 'cancelled', 'completed', 'refund_due') AND rail = ANY($1::text[])
     ORDER BY look_again_at LIMIT ${A_RUN} FOR UPDATE SKIP LOCKED)
   RETURNING id`,
);
/** Each wait is half of the time since the offer ended. The last look is one that saw everything, or one after which nothing can come. */
const plan = sql(
  'payments.plan-next-look',
  `UPDATE payments SET look_again_at = CASE WHEN $4 OR ($2 AND expires_at <= now() - $3 * interval '1 day') THEN NULL ELSE now() + greatest(interval '1 minute', (now() - expires_at) / 2) END WHERE id = $1`,
);

/**
 * Money can come to a deposit address after its offer has ended, and beside the payment that completed it. Rails that do not
 * forget are asked again, and what came is owed back. One statement a run, and two and a look at the rail for each payment
 * that is due: some twenty looks in a week.
 */
@Injectable()
export class FindLateMoney implements OnApplicationBootstrap {
  private readonly logger = new Logger('FindLateMoney');

  constructor(
    private readonly database: Database,
    private readonly observePayment: ObservePayment,
    private readonly jobs: Jobs,
    @Inject(PAYMENT_RAILS) private readonly rails: PaymentRail[],
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  onApplicationBootstrap(): void {
    if (this.remembering.length > 0) this.jobs.every('find-late-money', this.config.sweepIntervalMs, () => this.run());
  }

  async run(): Promise<void> {
    const due = await this.database.query<{ id: string }>(take, [this.remembering]);
    for (let first = 0; first < due.length; first += AT_ONCE) await Promise.all(due.slice(first, first + AT_ONCE).map(({ id }) => this.look(id)));
  }

  private async look(paymentId: string): Promise<void> {
    try {
      const { sawAll, isClosed } = await this.observePayment.sawAll(paymentId, newCall());
      await this.database.query(plan, [paymentId, sawAll, this.config.lateMoneyDays, isClosed]);
    } catch (error) {
      this.logger.warn(`payment ${paymentId} is looked at later: ${messageOf(error)}`);
    }
  }

  private get remembering(): string[] {
    return this.rails.filter(({ forgets }) => !forgets).map(({ id }) => id);
  }
}
