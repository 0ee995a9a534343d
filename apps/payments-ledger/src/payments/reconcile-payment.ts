import { paymentArrived, paymentRefundDue, type PendingReason } from '@market/contracts/payments-ledger';
import { invariant, newId } from '@market/kernel';
import type { RequestContext } from '@market/messaging';
import { Database, Outbox, sql, type Tx } from '@market/persistence';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { Journal, type JournalRecord } from '../journal/journal.js';
import { DEBTORS, refundDue, type RefundReason } from '../journal/posting.js';
import { PAYMENT_RAILS, type Freshness, type PaymentRail } from '../rails/payment-rail.js';
import { messageOf } from './message-of.js';
import { nextState, mayMove, UNPAID_STATES, type Observation } from './payment-state.js';
import {
  isForCall,
  isForSale,
  paymentColumns,
  paymentsAndOffers,
  quotedMicros,
  sellersPart,
  storeOffers,
  watchedOffer,
  worthMicros,
  type PaymentRow,
} from './payment.js';

const COLUMNS = `${paymentColumns('p')}, p.expires_at <= now() AS is_expired, now() AS as_of`;
const find = sql('payments.find', `SELECT ${COLUMNS} FROM ${paymentsAndOffers('p.id = $1')} p`);
const lock = sql('payments.lock', `SELECT ${COLUMNS} FROM payments p WHERE id = $1 FOR UPDATE`);
const lockAll = sql(
  'payments.lock-all',
  `SELECT ${COLUMNS} FROM payments p WHERE id = ANY($1::uuid[]) ORDER BY id FOR UPDATE`,
);
/** If another process stores one of them meanwhile, it is that one which is locked next. */
const store = sql(
  'payments.store-offers',
  `${storeOffers('offers p')} WHERE p.id = ANY($1::uuid[]) ORDER BY p.id ON CONFLICT DO NOTHING`,
);
const move = sql(
  'payments.move',
  `UPDATE payments SET state = $2, received_base_units = $3, transaction_hash = coalesce($4, transaction_hash),
     verified_at = CASE WHEN $2 = 'verified' THEN now() ELSE verified_at END,
     retry_until = CASE WHEN $2 = 'verified' THEN now() + $5 * interval '1 second' ELSE retry_until END
   WHERE id = $1 RETURNING ${paymentColumns('payments')}`,
);

const addRefunds = sql(
  'refunds.add',
  `INSERT INTO refunds (id, payment_id, reason, owed_by, buyer_id, seller_id, amount_micros, network, due_since)
   SELECT id, $1, $2, owed_by, $3, $4, micros, $5, $6
   FROM unnest($7::uuid[], $8::text[], $9::bigint[]) AS owed (id, owed_by, micros) WHERE micros > 0`,
);

/** A payment at the time `as_of`, of PostgreSQL's clock. */
export type LockedPayment = PaymentRow & { is_expired: boolean; as_of: Date };
type Reconciled = Promise<{ payment: PaymentRow; observation: Observation | null; missing: PendingReason | 'unpaid' }>;

/**
 * Asks a payment's rail what arrived and moves the payment accordingly. A surplus, or money that arrived too late,
 * becomes due as a refund in the same commit.
 */
@Injectable()
export class ReconcilePayment {
  private readonly logger = new Logger('ReconcilePayment');

  constructor(
    private readonly database: Database,
    private readonly journal: Journal,
    private readonly outbox: Outbox,
    @Inject(PAYMENT_RAILS) private readonly rails: PaymentRail[],
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  async execute(paymentId: string, context: Pick<RequestContext, 'requestId' | 'traceparent'>): Promise<PaymentRow> {
    return (await this.reconcile(paymentId, context)).payment;
  }

  /**
   * Whether the rail confirms that nothing was paid for an expired offer. If it finds a payment, that payment becomes
   * due as a refund.
   */
  async isUnpaidForGood(
    paymentId: string,
    context: Pick<RequestContext, 'requestId' | 'traceparent'>,
  ): Promise<boolean> {
    const { payment, observation } = await this.reconcile(paymentId, context);
    return observation?.receivedBaseUnits === 0n && !observation.arriving && UNPAID_STATES.includes(payment.state);
  }

  /** An offer becomes a payment before it is locked. */
  async lock(tx: Tx, paymentId: string): Promise<LockedPayment> {
    let [payment] = await tx.query<LockedPayment>(lock, [paymentId]);
    if (!payment) {
      this.store(tx, [paymentId]);
      [payment] = await tx.query<LockedPayment>(lock, [paymentId]);
    }
    invariant(payment, `payment ${paymentId} exists`);
    return payment;
  }

  /** Makes payments of offers, which are then locked. */
  store(tx: Tx, paymentIds: string[]): void {
    tx.send(store, [paymentIds]);
  }

  /** Locks payments in the order of their ids, so that two groups that do so do not deadlock. Returns them by id. */
  async lockAll(tx: Tx, paymentIds: string[]): Promise<Map<string, LockedPayment>> {
    const rows = await tx.query<LockedPayment>(lockAll, [[...new Set(paymentIds)]]);
    return new Map(rows.map((row) => [row.id, row]));
  }

  async apply(
    tx: Tx,
    payment: LockedPayment,
    observation: Observation,
    context: Pick<RequestContext, 'requestId' | 'traceparent'>,
  ): Promise<PaymentRow> {
    const transition = transitionOf(payment, observation);
    if (!transition) return payment;
    const { paidFurther } = transition;
    invariant(
      paidFurther || mayMove(payment.state, transition.state),
      `a payment moves from ${payment.state} to ${transition.state}`,
    );
    if (transition.state === 'refund_due') {
      const reason = UNPAID_STATES.includes(payment.state) ? 'paid_late' : 'not_delivered';
      return this.markRefundDue(
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
      transition.state,
      observation.receivedBaseUnits,
      observation.transactionHash,
      this.config.retryWindowSeconds,
    ]);
    const surplus = worthMicros(payment, transition.surplusBaseUnits);
    if (surplus > 0n) await this.recordRefundDue(tx, moved!, payment.as_of, 'overpaid', surplus, context);
    if (moved!.state === 'verified' && isForCall(moved!))
      this.outbox.add(
        tx,
        paymentArrived,
        {
          paymentId: moved.id,
          gatewayRequestId: moved.gateway_request_id,
          transactionHash: moved.transaction_hash,
          retryUntil: moved.retry_until!.toISOString(),
        },
        context,
      );
    return moved!;
  }

  /** Records, in the caller's transaction, that all money of an undelivered payment is owed to the buyer. */
  markNotDelivered(
    tx: Tx,
    payment: LockedPayment,
    context: Pick<RequestContext, 'requestId' | 'traceparent'>,
  ): Promise<PaymentRow> {
    const received = {
      receivedBaseUnits: BigInt(payment.received_base_units),
      transactionHash: payment.transaction_hash,
    };
    return this.markRefundDue(tx, payment, received, 'not_delivered', quotedMicros(payment), context);
  }

  /** Moves a payment to `refund_due` and records what is owed to the buyer, in the caller's transaction. */
  async markRefundDue(
    tx: Tx,
    payment: LockedPayment,
    observation: Pick<Observation, 'receivedBaseUnits' | 'transactionHash'>,
    reason: Exclude<RefundReason, 'overpaid'>,
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
    if (amountMicros > 0n) await this.recordRefundDue(tx, moved!, payment.as_of, reason, amountMicros, context);
    return moved!;
  }

  /**
   * Asks the rail before it locks any row, because the rail may be slow. If the rail does not know, the payment does
   * not change. `missing` says why an unpaid payment is unpaid.
   */
  async reconcile(
    paymentId: string,
    context: Pick<RequestContext, 'requestId' | 'traceparent'>,
    freshness: Freshness = 'current',
  ): Reconciled {
    const [payment] = await this.database.query<LockedPayment>(find, [paymentId]);
    invariant(payment, `payment ${paymentId} exists`);
    return this.reconcileFound(payment, context, freshness);
  }

  /** @param payment as it was just read. It is locked only if what the rail observed changes it. */
  async reconcileFound(
    payment: LockedPayment,
    context: Pick<RequestContext, 'requestId' | 'traceparent'>,
    freshness: Freshness = 'current',
  ): Reconciled {
    const rail = this.rails.find(({ id }) => id === payment.rail);
    invariant(rail, `the rail of payment ${payment.id} is configured`);
    const observation = await this.ask(rail, payment, freshness);
    if (!observation) return { payment, observation, missing: 'payment_unknown' };
    const moved = transitionOf(payment, observation)
      ? await this.database.transaction(async (tx) => {
          const locked = await this.lock(tx, payment.id);
          const current = rail.local ? await rail.observe(watchedOffer(locked), tx) : observation;
          return this.apply(tx, locked, current, context);
        })
      : payment;
    const missing = observation.arriving ? 'payment_not_final' : rail.authoritative ? 'unpaid' : 'payment_not_seen';
    return { payment: moved, observation, missing };
  }

  private async ask(rail: PaymentRail, payment: PaymentRow, freshness: Freshness): Promise<Observation | null> {
    try {
      return await rail.observe(watchedOffer(payment), undefined, freshness);
    } catch (error) {
      this.logger.warn(`${rail.id} does not know of payment ${payment.id}: ${messageOf(error)}`);
      return null;
    }
  }

  private async recordRefundDue(...debt: Parameters<ReconcilePayment['oweBack']>): Promise<void> {
    const [tx, , at] = debt;
    this.journal.record(tx, [await this.oweBack(...debt)], at);
  }

  /** Adds a debt to the buyer, in the caller's transaction. @returns its entry, which the caller records. */
  async oweBack(
    tx: Tx,
    payment: PaymentRow,
    at: Date,
    reason: RefundReason,
    amountMicros: bigint,
    context: Pick<RequestContext, 'requestId' | 'traceparent'>,
  ): Promise<JournalRecord> {
    invariant(isForSale(payment), 'fees are paid by signatures, which owe nothing');
    const sellersMicros = sellersPart(payment, amountMicros);
    const { seller_id: sellerId, payee } = payment;
    await tx.query(addRefunds, [
      payment.id,
      reason,
      payment.buyer_id,
      sellerId,
      // Relay pays the seller on the destination network, so the refund is owed there.
      payee === 'split' ? this.config.relayDestination.network : payment.network,
      at,
      DEBTORS.map(() => newId()),
      DEBTORS,
      [sellersMicros, amountMicros - sellersMicros],
    ]);
    this.outbox.add(
      tx,
      paymentRefundDue,
      {
        paymentId: payment.id,
        gatewayRequestId: payment.gateway_request_id,
        buyerId: payment.buyer_id,
        sellerId,
        listingId: payment.listing_id,
        amountMicros: amountMicros.toString(),
        sellersMicros: sellersMicros.toString(),
        reason,
        at: at.toISOString(),
      },
      context,
    );
    const entry = refundDue({
      paymentId: payment.id,
      buyerId: payment.buyer_id,
      sellerId: payment.seller_id,
      rail: payment.rail,
      amountMicros,
      sellersMicros,
      reason,
    });
    return { entry, payment, context };
  }
}

/** The move that an observation brings about; null if it leaves the payment as it is. */
function transitionOf(
  payment: LockedPayment,
  observation: Observation,
): (ReturnType<typeof nextState> & { paidFurther: boolean }) | null {
  const transition = nextState(
    { state: payment.state, amountBaseUnits: BigInt(payment.amount_base_units), expired: payment.is_expired },
    observation,
  );
  const paidFurther =
    transition.state === 'underpaid' && observation.receivedBaseUnits > BigInt(payment.received_base_units);
  return transition.state === payment.state && !paidFurther ? null : { ...transition, paidFurther };
}
