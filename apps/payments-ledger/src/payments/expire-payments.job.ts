import { newCall } from '@market/messaging';
import { Database, sql, type Statement } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { Authorizations } from './authorizations.js';
import { messageOf } from './message-of.js';
import { ObservePayment } from './observe-payment.js';
import { UNPAID_STATES } from './payment-state.js';

const PAGE = 200;
/** A backlog is worked off over several runs, so that a stopping process does not wait for all of it. */
const PAGES_A_RUN = 10;
const IS_UNPAID = `state IN (${UNPAID_STATES.map((state) => `'${state}'`).join(', ')})`;
const FIRST = { due: '-infinity', id: '00000000-0000-0000-0000-000000000000' };

/** Pages by (due, id): a payment that cannot be ended yet does not hold up those behind it. */
const unpaid = sql(
  'payments.unpaid-past-expiry',
  `SELECT id, expires_at::text AS due FROM payments WHERE state IN ('pending', 'underpaid') AND expires_at <= now() AND (expires_at, id) > ($1::timestamptz, $2::uuid) ORDER BY expires_at, id LIMIT ${PAGE}`,
);
const undelivered = sql(
  'payments.undelivered-past-window',
  `SELECT id, retry_until::text AS due FROM payments WHERE state = 'verified' AND retry_until <= now() AND (retry_until, id) > ($1::timestamptz, $2::uuid) ORDER BY retry_until, id LIMIT ${PAGE}`,
);
/** Where another party carries the money, it may deliver after the offer's end; the waits grow with the time since. */
const over = sql(
  'payments.over-to-look-again',
  `SELECT id, look_again_at::text AS due FROM payments WHERE ${IS_UNPAID} AND look_again_at <= now() AND (look_again_at, id) > ($1::timestamptz, $2::uuid) ORDER BY look_again_at, id LIMIT ${PAGE}`,
);
const planLook = sql('payments.plan-next-look', `UPDATE payments SET look_again_at = CASE WHEN $2 THEN NULL ELSE now() + greatest(interval '1 minute', (now() - expires_at) / 2) END WHERE id = $1`);
const abandoned = sql(
  'payments.release-abandoned',
  `UPDATE payments SET state = 'verified', lease_until = NULL
   WHERE id IN (SELECT id FROM payments WHERE state = 'in_flight' AND lease_until < now() - interval '60 seconds' FOR UPDATE SKIP LOCKED)`,
);

/**
 * Unpaid offers expire after a last look at their rail, undelivered payments are owed back, once, or were only authorized and
 * lapse; a claim whose holder is long gone is given back, so that it too can be repeated or owed back. Offers that are over
 * are looked at again where their rail asked for it.
 */
@Injectable()
export class ExpirePayments implements OnApplicationBootstrap {
  private readonly logger = new Logger('ExpirePayments');

  constructor(
    private readonly database: Database,
    private readonly observePayment: ObservePayment,
    private readonly authorizations: Authorizations,
    private readonly jobs: Jobs,
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.every('expire-payments', this.config.sweepIntervalMs, () => this.run());
  }

  async run(): Promise<void> {
    await this.database.query(abandoned);
    await this.each(unpaid, (id) => this.observePayment.execute(id, newCall()));
    await this.each(undelivered, (id) => this.oweBack(id));
    await this.each(over, (id) => this.lookAgain(id));
  }

  private async each(due: Statement, end: (paymentId: string) => Promise<unknown>): Promise<void> {
    let after = FIRST;
    for (let pages = 1; pages <= PAGES_A_RUN; pages += 1) {
      const page = await this.database.query<typeof FIRST>(due, [after.due, after.id]);
      for (const { id } of page) await end(id).catch((error: unknown) => this.logger.warn(`payment ${id} waits: ${messageOf(error)}`));
      if (page.length < PAGE) return;
      after = page[page.length - 1]!;
    }
  }

  private async lookAgain(paymentId: string): Promise<void> {
    let isClosed = false;
    try {
      isClosed = (await this.observePayment.look(paymentId, newCall())).observation?.isClosed === true;
    } finally {
      await this.database.query(planLook, [paymentId, isClosed]);
    }
  }

  private async oweBack(paymentId: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      const payment = await this.observePayment.lock(tx, paymentId);
      if (payment.state !== 'verified' || payment.retry_until! > payment.as_of) return;
      if (payment.authorization_id !== null) return this.authorizations.lapse(tx, paymentId);
      const received = { receivedBaseUnits: BigInt(payment.received_base_units), transactionHash: payment.transaction_hash };
      await this.observePayment.oweBack(tx, payment, received, 'not_delivered', BigInt(payment.gross_micros), newCall());
    });
  }
}
