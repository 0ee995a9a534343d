import { INCLUDED } from '@market/contracts/payments-ledger';
import { newRequestContext } from '@market/messaging';
import { Database, Locks, sql, type Statement } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { PAYMENT_RAILS, type PaymentRail } from '../rails/payment-rail.js';
import { giveBack } from '../quotas/call-quotas.js';
import { Authorizations } from './authorizations.js';
import { messageOf } from './message-of.js';
import { ReconcilePayment } from './reconcile-payment.js';
import { UNPAID_STATES } from './payment-state.js';
import { paysBySignature } from './payment.js';
import { SettleAuthorization } from './settle-authorization.js';

/**
 * The maximum number of payments of one queue that are processed at a time. It bounds the requests to a rail and leaves
 * database connections to the other queues.
 */
const CONCURRENCY = 8;
/** A run ends after this time, so that a stopping process does not wait until a whole backlog is processed. */
const RUN_MS = 4_000;
const FIRST = { due: '-infinity', id: '00000000-0000-0000-0000-000000000000' };
const IS_UNPAID = `state IN (${UNPAID_STATES.map((state) => `'${state}'`).join(', ')})`;

/** Payments of rail $3 that have been due for $4 hours, after the cursor ($1, $2). */
const due = (name: string, column: string, condition: string): Statement =>
  sql(
    `payments.${name}`,
    `SELECT id, relay_request_id, ${column}::text AS due FROM payments
     WHERE ${condition} AND ${column} <= now() - $4 * interval '1 hour' AND (${column}, id) > ($1::timestamptz, $2::uuid)
     ORDER BY ${column}, id LIMIT ${CONCURRENCY}`,
  );

const undelivered = due('undelivered-past-window', 'retry_until', `state = 'verified' AND $3::text IS NULL`);
const underpaid = due('underpaid-past-expiry', 'expires_at', `rail = $3 AND state = 'underpaid'`);
const unpaid = due('unpaid-past-expiry', 'expires_at', `rail = $3 AND state = 'pending'`);
/**
 * An external provider may deliver money after the offer expired. The intervals between checks grow with the time since
 * then.
 */
const over = due('expired-to-recheck', 'recheck_at', `rail = $3 AND ${IS_UNPAID}`);
const old = due('unpaid-since-long', 'expires_at', `rail = $3 AND ${IS_UNPAID}`);

const planRecheck = sql(
  'payments.plan-recheck',
  `UPDATE payments
   SET recheck_at = CASE WHEN $2 THEN NULL ELSE now() + greatest(interval '1 minute', (now() - expires_at) / 2) END
   WHERE id = $1`,
);
/** While the offer is kept, so is what became of it. */
const prune = sql(
  'payments.prune',
  `DELETE FROM payments WHERE id = $1 AND ${IS_UNPAID} AND received_base_units = 0
     AND NOT EXISTS (SELECT FROM offers o WHERE o.id = $1)`,
);
type Due = typeof FIRST & { relay_request_id: string };

interface Queue {
  due: Statement;
  /** Null if the queue is for all rails. */
  rail: string | null;
  hours: number;
  end(payment: Due): Promise<unknown>;
  /** The cursor of the next run, so that payments that cannot be ended yet do not block the others. */
  after: typeof FIRST;
}

/**
 * Ends payments that are due. An unpaid payment expires after a last check with its rail. One that was not delivered
 * becomes due as a refund; if it was only authorized, it lapses unless its chain shows a settlement, and a call that was
 * included is given back. An expired one is checked again if its rail asked for that. It is deleted after
 * `keepUnpaidHours` if the rail is `prunable` and confirms that nothing was paid. Each rail has its own queues, so that a
 * slow rail delays no other work. Offers to which nothing happened are no payments (`KeepOffers`).
 */
@Injectable()
export class ExpirePayments implements OnApplicationBootstrap {
  private readonly logger = new Logger('ExpirePayments');
  private readonly queues: Queue[];

  constructor(
    private readonly database: Database,
    private readonly locks: Locks,
    private readonly reconcilePayment: ReconcilePayment,
    private readonly authorizations: Authorizations,
    private readonly settleAuthorization: SettleAuthorization,
    private readonly jobs: Jobs,
    @Inject(PAYMENT_RAILS) rails: PaymentRail[],
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {
    const queue = (of: Pick<Queue, 'due' | 'rail' | 'end'>, hours = 0): Queue => ({ ...of, hours, after: FIRST });
    const reconcile = ({ id }: Due): Promise<unknown> => this.reconcilePayment.execute(id, newRequestContext());
    this.queues = [
      queue({ due: undelivered, rail: null, end: (payment) => this.endUndelivered(payment) }),
      queue({ due: old, rail: INCLUDED, end: ({ id }) => this.database.query(prune, [id]) }, config.keepUnpaidHours),
      ...rails.flatMap(({ id: rail, prunable }) => [
        queue({ due: underpaid, rail, end: reconcile }),
        queue({ due: unpaid, rail, end: reconcile }),
        queue({ due: over, rail, end: ({ id }) => this.recheck(id) }),
        ...(prunable ? [queue({ due: old, rail, end: ({ id }) => this.prune(id) }, config.keepUnpaidHours)] : []),
      ]),
    ];
  }

  onApplicationBootstrap(): void {
    this.jobs.beforeReady(() => this.locks.open());
    for (const queue of this.queues)
      this.jobs.every(`${queue.due.name} ${queue.rail ?? ''}`, this.config.sweepIntervalMs, () => this.work(queue));
  }

  /** Runs every queue once. */
  async run(): Promise<void> {
    await Promise.all(this.queues.map((queue) => this.work(queue)));
  }

  private async work(queue: Queue): Promise<void> {
    const { rail, hours } = queue;
    for (const until = Date.now() + RUN_MS; Date.now() < until;) {
      const batch = await this.database.query<Due>(queue.due, [queue.after.due, queue.after.id, rail, hours]);
      await Promise.all(
        batch.map((payment) =>
          queue
            .end(payment)
            .catch((error: unknown) =>
              this.logger.warn(`payment ${payment.id} will be tried again: ${messageOf(error)}`),
            ),
        ),
      );
      queue.after = batch.length < CONCURRENCY ? FIRST : batch.at(-1)!;
      if (queue.after === FIRST) return;
    }
  }

  private async recheck(paymentId: string): Promise<void> {
    let isClosed = false;
    try {
      isClosed = (await this.reconcilePayment.reconcile(paymentId, newRequestContext())).observation?.isClosed === true;
    } finally {
      await this.database.query(planRecheck, [paymentId, isClosed]);
    }
  }

  /** If the rail finds a payment, the offer becomes due for a refund and is kept. */
  private async prune(paymentId: string): Promise<void> {
    if (await this.reconcilePayment.isUnpaidForGood(paymentId, newRequestContext()))
      await this.database.query(prune, [paymentId]);
  }

  /** A payment whose call is under way ends with that call. */
  private async endUndelivered({ id, relay_request_id: relayRequestId }: Due): Promise<void> {
    const lock = await this.locks.acquire(relayRequestId);
    if (!lock) return;
    try {
      await this.markRefundDue(id);
    } finally {
      lock.release();
    }
  }

  private async markRefundDue(paymentId: string): Promise<void> {
    const transactionHash = await this.settleAuthorization.findSettled(paymentId);
    await this.database.transaction(async (tx) => {
      const payment = await this.reconcilePayment.lock(tx, paymentId);
      if (payment.state !== 'verified' || payment.retry_until! > payment.as_of) return;
      if (payment.purpose === 'included') return void tx.send(giveBack, [paymentId]);
      if (paysBySignature(payment))
        return transactionHash
          ? this.settleAuthorization.recordSettled(tx, payment, transactionHash)
          : this.authorizations.lapse(tx, paymentId);
      await this.reconcilePayment.markNotDelivered(tx, payment, newRequestContext());
    });
  }
}
