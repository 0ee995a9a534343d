import { newRequestContext } from '@market/messaging';
import { Database, sql, type Statement } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { PAYMENT_RAILS, type PaymentRail } from '../rails/payment-rail.js';
import { Authorizations } from './authorizations.js';
import { messageOf } from './message-of.js';
import { ObservePayment } from './observe-payment.js';
import { UNPAID_STATES } from './payment-state.js';
import { paysBySignature } from './payment.js';

/** So many of one queue are worked on side by side: a rail is asked for no more at once, and the other queues keep connections to PostgreSQL. */
const CONCURRENCY = 8;
/** A backlog is worked off over several runs, so that a stopping process does not wait for all of it. */
const RUN_MS = 4_000;
const FIRST = { due: '-infinity', id: '00000000-0000-0000-0000-000000000000' };
const IS_UNPAID = `state IN (${UNPAID_STATES.map((state) => `'${state}'`).join(', ')})`;

/** Payments whose time has come, of the rail $3 and for $4 days, after the place ($1, $2). */
const due = (name: string, column: string, condition: string): Statement =>
  sql(
    `payments.${name}`,
    `SELECT id, ${column}::text AS due FROM payments WHERE ${condition} AND ${column} <= now() - $4 * interval '1 day' AND (${column}, id) > ($1::timestamptz, $2::uuid) ORDER BY ${column}, id LIMIT ${CONCURRENCY}`,
  );

const undelivered = due('undelivered-past-window', 'retry_until', `state = 'verified' AND $3::text IS NULL`);
const underpaid = due('underpaid-past-expiry', 'expires_at', `rail = $3 AND state = 'underpaid'`);
const unpaid = due('unpaid-past-expiry', 'expires_at', `rail = $3 AND state = 'pending'`);
/** Where another party carries the money, it may deliver after the offer's end; the waits grow with the time since. */
const over = due('over-to-look-again', 'look_again_at', `rail = $3 AND ${IS_UNPAID}`);
const old = due('unpaid-since-long', 'expires_at', `rail = $3 AND ${IS_UNPAID}`);

const planLook = sql(
  'payments.plan-next-look',
  `UPDATE payments SET look_again_at = CASE WHEN $2 THEN NULL ELSE now() + greatest(interval '1 minute', (now() - expires_at) / 2) END WHERE id = $1`,
);
const forget = sql(
  'payments.forget',
  `DELETE FROM payments WHERE id = $1 AND ${IS_UNPAID} AND received_base_units = 0`,
);
const abandoned = sql(
  'payments.release-abandoned',
  `UPDATE payments SET state = 'verified', lease_until = NULL
   WHERE id IN (SELECT id FROM payments WHERE state = 'in_flight' AND lease_until < now() - interval '60 seconds' FOR UPDATE SKIP LOCKED)`,
);

interface Queue {
  due: Statement;
  /** Null where no rail is asked. */
  rail: string | null;
  days: number;
  end(paymentId: string): Promise<unknown>;
  /** Where the next run goes on: those that cannot be ended yet hold up none of the others. */
  after: typeof FIRST;
}

/**
 * Unpaid offers expire after a last look at their rail, undelivered payments are owed back, once, or were only authorized and
 * lapse; a claim whose holder is long gone is given back, so that it too can be repeated or owed back. Offers that are over
 * are looked at again where their rail asked for it, and forgotten long after their time where it lets go of them and a last look
 * finds that nothing came. What needs no rail waits for none, and no rail for another.
 */
@Injectable()
export class ExpirePayments implements OnApplicationBootstrap {
  private readonly logger = new Logger('ExpirePayments');
  private readonly queues: Queue[];

  constructor(
    private readonly database: Database,
    private readonly observePayment: ObservePayment,
    private readonly authorizations: Authorizations,
    private readonly jobs: Jobs,
    @Inject(PAYMENT_RAILS) rails: PaymentRail[],
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {
    const queue = (of: Pick<Queue, 'due' | 'rail' | 'end'>, days = 0): Queue => ({ ...of, days, after: FIRST });
    const look = (id: string): Promise<unknown> => this.observePayment.execute(id, newRequestContext());
    this.queues = [
      queue({ due: undelivered, rail: null, end: (id) => this.oweBack(id) }),
      ...rails.flatMap(({ id: rail, forgets }) => [
        queue({ due: underpaid, rail, end: look }),
        queue({ due: unpaid, rail, end: look }),
        queue({ due: over, rail, end: (id) => this.lookAgain(id) }),
        ...(forgets ? [queue({ due: old, rail, end: (id) => this.forget(id) }, config.keepUnpaidDays)] : []),
      ]),
    ];
  }

  onApplicationBootstrap(): void {
    this.jobs.every('release-abandoned-claims', this.config.sweepIntervalMs, () => this.releaseAbandoned());
    for (const queue of this.queues)
      this.jobs.every(`${queue.due.name} ${queue.rail ?? ''}`, this.config.sweepIntervalMs, () => this.work(queue));
  }

  /** Every queue, once. */
  async run(): Promise<void> {
    await this.releaseAbandoned();
    await Promise.all(this.queues.map((queue) => this.work(queue)));
  }

  private async releaseAbandoned(): Promise<void> {
    await this.database.query(abandoned);
  }

  private async work(queue: Queue): Promise<void> {
    const { rail, days } = queue;
    for (const until = Date.now() + RUN_MS; Date.now() < until;) {
      const batch = await this.database.query<typeof FIRST>(queue.due, [queue.after.due, queue.after.id, rail, days]);
      await Promise.all(
        batch.map(({ id }) =>
          queue.end(id).catch((error: unknown) => this.logger.warn(`payment ${id} waits: ${messageOf(error)}`)),
        ),
      );
      queue.after = batch.length < CONCURRENCY ? FIRST : batch.at(-1)!;
      if (queue.after === FIRST) return;
    }
  }

  private async lookAgain(paymentId: string): Promise<void> {
    let isClosed = false;
    try {
      isClosed = (await this.observePayment.look(paymentId, newRequestContext())).observation?.isClosed === true;
    } finally {
      await this.database.query(planLook, [paymentId, isClosed]);
    }
  }

  /** Money that came late is recorded and owed back, and its payment is kept for good. */
  private async forget(paymentId: string): Promise<void> {
    if (await this.observePayment.cameToNothing(paymentId, newRequestContext()))
      await this.database.query(forget, [paymentId]);
  }

  private async oweBack(paymentId: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      const payment = await this.observePayment.lock(tx, paymentId);
      if (payment.state !== 'verified' || payment.retry_until! > payment.as_of) return;
      if (paysBySignature(payment)) return this.authorizations.lapse(tx, paymentId);
      const received = {
        receivedBaseUnits: BigInt(payment.received_base_units),
        transactionHash: payment.transaction_hash,
      };
      await this.observePayment.oweBack(
        tx,
        payment,
        received,
        'not_delivered',
        BigInt(payment.gross_micros),
        newRequestContext(),
      );
    });
  }
}
