import { newCall } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { PAYMENT_RAILS, type PaymentRail } from '../rails/payment-rail.js';
import { messageOf } from './message-of.js';
import { ObservePayment } from './observe-payment.js';
import { UNPAID_STATES } from './payment-state.js';

const PAGE = 200;
const PAGES_A_RUN = 10;
const FIRST = { due: '-infinity', id: '00000000-0000-0000-0000-000000000000' };
const IS_UNPAID = `state IN (${UNPAID_STATES.map((state) => `'${state}'`).join(', ')})`;

/** Pages by (due, id): one that stays does not hold up those behind it. */
const old = sql(
  'payments.unpaid-since-long',
  `SELECT id, expires_at::text AS due FROM payments WHERE ${IS_UNPAID} AND rail = ANY($4::text[]) AND expires_at <= now() - $3 * interval '1 day' AND (expires_at, id) > ($1::timestamptz, $2::uuid) ORDER BY expires_at, id LIMIT ${PAGE}`,
);
const forget = sql('payments.forget', `DELETE FROM payments WHERE id = ANY($1::uuid[]) AND ${IS_UNPAID} AND received_base_units = 0`);

/**
 * Removes offers that came to nothing, long after their time, where the rail lets go of them. Each gets a last look before:
 * money that came late is recorded and owed back, and a payment that money came for is kept for good.
 */
@Injectable()
export class ForgetUnpaid implements OnApplicationBootstrap {
  private readonly logger = new Logger('ForgetUnpaid');

  constructor(
    private readonly database: Database,
    private readonly observePayment: ObservePayment,
    private readonly jobs: Jobs,
    @Inject(PAYMENT_RAILS) private readonly rails: PaymentRail[],
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.every('forget-unpaid', this.config.sweepIntervalMs, () => this.run());
  }

  async run(): Promise<void> {
    const rails = this.rails.filter(({ forgets }) => forgets).map(({ id }) => id);
    let after = FIRST;
    for (let pages = 1; pages <= PAGES_A_RUN; pages += 1) {
      const page = await this.database.query<typeof FIRST>(old, [after.due, after.id, this.config.keepUnpaidDays, rails]);
      const forgettable: string[] = [];
      for (const { id } of page) if (await this.cameToNothing(id)) forgettable.push(id);
      if (forgettable.length > 0) await this.database.query(forget, [forgettable]);
      if (page.length < PAGE) return;
      after = page[page.length - 1]!;
    }
  }

  private async cameToNothing(paymentId: string): Promise<boolean> {
    try {
      return await this.observePayment.cameToNothing(paymentId, newCall());
    } catch (error) {
      this.logger.warn(`payment ${paymentId} is kept: ${messageOf(error)}`);
      return false;
    }
  }
}
