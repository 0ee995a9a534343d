import { paymentRefundDue, type PendingReason } from '@market/contracts/payments-ledger';
import { invariant } from '@market/kernel';
import type { RequestContext } from '@market/messaging';
import { Database, Outbox, sql, type Tx } from '@market/persistence';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { Journal } from '../journal/journal.js';
import { refundDue, type RefundReason } from '../journal/posting.js';
import { PAYMENT_RAILS, type PaymentRail } from '../rails/payment-rail.js';
import { messageOf } from './message-of.js';
import { judge, mayMove, UNPAID_STATES, type Observation } from './payment-state.js';
import { paymentColumns, watchedOffer, worthMicros, type PaymentRow } from './payment.js';

const find = sql('payments.find', `SELECT ${paymentColumns('p')} FROM payments p WHERE id = $1`);
const lock = sql(
  'payments.lock',
  `SELECT ${paymentColumns('p')}, p.expires_at <= now() AS is_expired, now() AS as_of FROM payments p WHERE id = $1 FOR UPDATE`,
);
const move = sql(
  'payments.move',
  `UPDATE payments SET state = $2, received_base_units = $3, transaction_hash = coalesce($4, transaction_hash),
     verified_at = CASE WHEN $2 = 'verified' THEN now() ELSE verified_at END,
     retry_until = CASE WHEN $2 = 'verified' THEN now() + $5 * interval '1 second' ELSE retry_until END
   WHERE id = $1 RETURNING ${paymentColumns('payments')}`,
);

export type LockedPayment = PaymentRow & { is_expired: boolean; as_of: Date };

/** Asks a payment's rail what arrived and moves the payment accordingly; money beyond the price, or too late for it, is owed back at once. */
@Injectable()
export class ObservePayment {
  private readonly logger = new Logger('ObservePayment');

  constructor(
    private readonly database: Database,
    private readonly journal: Journal,
    private readonly outbox: Outbox,
    @Inject(PAYMENT_RAILS) private readonly rails: PaymentRail[],
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  async execute(paymentId: string, context: Pick<RequestContext, 'requestId' | 'traceparent'>): Promise<PaymentRow> {
    return (await this.look(paymentId, context)).payment;
  }

  /** Whether the rail is sure that nothing came for an offer that is over; what did come is owed back. */
  async cameToNothing(paymentId: string, context: Pick<RequestContext, 'requestId' | 'traceparent'>): Promise<boolean> {
    const { payment, observation } = await this.look(paymentId, context);
    return observation?.receivedBaseUnits === 0n && !observation.arriving && UNPAID_STATES.includes(payment.state);
  }

  async lock(tx: Tx, paymentId: string): Promise<LockedPayment> {
    const [payment] = await tx.query<LockedPayment>(lock, [paymentId]);
    invariant(payment, `payment ${paymentId} exists`);
    return payment;
  }

  async apply(
    tx: Tx,
    payment: LockedPayment,
    observation: Observation,
    context: Pick<RequestContext, 'requestId' | 'traceparent'>,
  ): Promise<PaymentRow> {
    const verdict = judge(
      { state: payment.state, amountBaseUnits: BigInt(payment.amount_base_units), expired: payment.is_expired },
      observation,
    );
    const paidFurther =
      verdict.state === 'underpaid' && observation.receivedBaseUnits > BigInt(payment.received_base_units);
    if (verdict.state === payment.state && !paidFurther) return payment;
    invariant(
      paidFurther || mayMove(payment.state, verdict.state),
      `a payment moves from ${payment.state} to ${verdict.state}`,
    );
    if (verdict.state === 'refund_due') {
      const reason = UNPAID_STATES.includes(payment.state) ? 'paid_late' : 'not_delivered';
      return this.oweBack(
        tx,
        payment,
        observation,
        reason,
        worthMicros(payment, observation.receivedBaseUnits),
        context,
      );
    }
    const [moved] = await tx.query<PaymentRow>(move, [
      payment.id,
      verdict.state,
      observation.receivedBaseUnits,
      observation.transactionHash,
      this.config.retryWindowSeconds,
    ]);
    const surplus = worthMicros(payment, verdict.surplusBaseUnits);
    if (surplus > 0n) await this.recordOwed(tx, moved!, payment.as_of, 'overpaid', surplus, context);
    return moved!;
  }

  /** Ends a payment in the buyer's favour: the state and the adjustment are one commit. */
  async oweBack(
    tx: Tx,
    payment: LockedPayment,
    observation: Pick<Observation, 'receivedBaseUnits' | 'transactionHash'>,
    reason: 'not_delivered' | 'paid_late',
    amountMicros: bigint,
    context: Pick<RequestContext, 'requestId' | 'traceparent'>,
  ): Promise<PaymentRow> {
    const [moved] = await tx.query<PaymentRow>(move, [
      payment.id,
      'refund_due',
      observation.receivedBaseUnits,
      observation.transactionHash,
      0,
    ]);
    if (amountMicros > 0n) await this.recordOwed(tx, moved!, payment.as_of, reason, amountMicros, context);
    return moved!;
  }

  /**
   * The rail is asked before any row is locked: it may be slow. A rail that does not know leaves the payment as it is.
   * `missing`: why its money is not there, where it is not.
   */
  async look(
    paymentId: string,
    context: Pick<RequestContext, 'requestId' | 'traceparent'>,
  ): Promise<{ payment: PaymentRow; observation: Observation | null; missing: PendingReason | 'unpaid' }> {
    const [payment] = await this.database.query<PaymentRow>(find, [paymentId]);
    const rail = this.rails.find(({ id }) => id === payment?.rail);
    invariant(payment && rail, `payment ${paymentId} is known and its rail configured`);
    const observation = await this.ask(rail, payment);
    if (!observation) return { payment, observation, missing: 'payment_unknown' };
    const moved = await this.database.transaction(async (tx) =>
      this.apply(tx, await this.lock(tx, paymentId), observation, context),
    );
    const missing = observation.arriving ? 'payment_not_final' : rail.seesAll ? 'unpaid' : 'payment_not_seen';
    return { payment: moved, observation, missing };
  }

  private async ask(rail: PaymentRail, payment: PaymentRow): Promise<Observation | null> {
    try {
      return await rail.observe(watchedOffer(payment));
    } catch (error) {
      this.logger.warn(`${rail.id} does not know of payment ${payment.id}: ${messageOf(error)}`);
      return null;
    }
  }

  private async recordOwed(
    tx: Tx,
    payment: PaymentRow,
    at: Date,
    reason: RefundReason,
    amountMicros: bigint,
    context: Pick<RequestContext, 'requestId' | 'traceparent'>,
  ): Promise<void> {
    await this.journal.record(
      tx,
      [
        {
          entry: refundDue({
            paymentId: payment.id,
            buyerId: payment.buyer_id,
            rail: payment.rail,
            amountMicros,
            reason,
          }),
          payment,
        },
      ],
      at,
    );
    await this.outbox.add(
      tx,
      paymentRefundDue,
      {
        paymentId: payment.id,
        gatewayRequestId: payment.gateway_request_id,
        buyerId: payment.buyer_id,
        listingId: payment.listing_id,
        amountMicros: amountMicros.toString(),
        reason,
        at: at.toISOString(),
      },
      context,
    );
  }
}
