import type { InputOf, OutputOf } from '@market/contracts';
import { verifyPayment, type PendingReason } from '@market/contracts/payments-ledger';
import { formatDecimal, invariant, usdNumber } from '@market/kernel';
import { principalOf, refuse, type RequestContext, type Refusal } from '@market/messaging';
import { Database, sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { Budgets } from '../budgets/budgets.js';
import { Journal } from '../journal/journal.js';
import { subscriptionStarted } from '../journal/posting.js';
import { ReconcilePayment, type LockedPayment } from '../payments/reconcile-payment.js';
import { mayGetMoney } from '../payments/payment-state.js';
import { PaySandbox } from '../payments/pay-sandbox.use-case.js';
import { receiptsOf } from '../payments/receipt.js';
import {
  feesOf,
  isForSubscription,
  owedMicros,
  paymentColumns,
  requirementsOf,
  splitOf,
  type PaymentRow,
  type SubscriptionPaymentRow,
} from '../payments/payment.js';
import { OfferedListing } from './offered-listing.js';
import { subscriptionColumns, toSubscriptionView, type SubscriptionRow } from './subscription.js';
import { Subscriptions } from './subscriptions.js';
import { isSame, readSandboxPayload } from './x402-payload.js';

type Input = InputOf<typeof verifyPayment>;
type Output = OutputOf<typeof verifyPayment>;

const find = sql('payments.find-to-verify', `SELECT ${paymentColumns('p')} FROM payments p WHERE id = $1`);
const findStarted = sql(
  'subscriptions.of-payment',
  `SELECT ${subscriptionColumns} FROM subscriptions s WHERE s.payment_id = $1`,
);
const complete = sql(
  'payments.complete-subscription',
  `WITH completed AS (
     UPDATE payments SET state = 'completed', completed_at = $2 WHERE id = $1
   )
   INSERT INTO receipts (id, payment_id, recipient_type, recipient_id, created_at) VALUES ($3, $1, 'buyer', $4, $2), ($5, $1, 'seller', $6, $2)`,
);

const RETRY_SECONDS = 2;

interface Looked {
  payment: PaymentRow;
  missing?: PendingReason | 'unpaid';
}

/**
 * Starts the subscription that a payment is for, once its money has come.
 */
@Injectable()
export class VerifyPayment {
  constructor(
    private readonly database: Database,
    private readonly reconcilePayment: ReconcilePayment,
    private readonly paySandbox: PaySandbox,
    private readonly listings: OfferedListing,
    private readonly journal: Journal,
    private readonly subscriptions: Subscriptions,
    private readonly budgets: Budgets,
  ) {}

  async execute(input: Input, context: RequestContext): Promise<Output> {
    const payment = await this.findOwn(input, context);
    const { payment: reconciled, missing } = await this.reconcile(payment, input, context);
    if (
      reconciled.transaction_hash !== null &&
      input.transactionHash !== undefined &&
      !isSame(input.transactionHash, reconciled.transaction_hash)
    ) {
      throw mismatch('transactionHash', 'is not the transaction that paid; leave it out or correct it');
    }
    if (reconciled.state !== 'verified') return this.explain(reconciled, missing);
    if (!(await this.listings.isActive(reconciled.listing_id, context)))
      throw refuse(verifyPayment, 'listing_unavailable', { retry_until: reconciled.retry_until!.toISOString() });
    const refused = await this.database.transaction((tx) => this.start(tx, reconciled.id, context));
    if (refused) throw refused;
    return this.explain(await this.find(reconciled.id));
  }

  /** @throws Refusal where it is not the caller's, not a subscription's, or what was sent speaks of another. */
  private async findOwn(
    { payment_id, relay_request_id, scheme, network }: Input,
    context: RequestContext,
  ): Promise<SubscriptionPaymentRow> {
    const [row] = await this.database.query<PaymentRow>(find, [payment_id]);
    if (row?.buyer_id !== principalOf(context).accountId) throw refuse(verifyPayment, 'payment_not_found', {});
    if (!isForSubscription(row))
      throw refuse(verifyPayment, 'payment_of_call', { relay_request_id: row.relay_request_id });
    if (relay_request_id !== undefined && relay_request_id !== row.relay_request_id)
      throw mismatch('relay_request_id', 'is that of another payment');
    if (scheme !== undefined && scheme !== row.scheme) throw mismatch('scheme', `must be ${row.scheme}`);
    if (network !== undefined && network !== row.network) throw mismatch('network', `must be ${row.network}`);
    return row;
  }

  private async reconcile(
    payment: SubscriptionPaymentRow,
    { payload }: Input,
    context: RequestContext,
  ): Promise<Looked> {
    if (payload !== undefined) {
      if (payment.rail !== this.paySandbox.railId)
        throw mismatch('payload', `is not taken by payments of ${payment.rail}; send relay_request_id`);
      const read = readSandboxPayload(payment, payload);
      if ('problem' in read) throw mismatch('payload', read.problem);
      if (mayGetMoney(payment.state)) await this.paySandbox.pay(payment.id, read.outcome, context);
    }
    return mayGetMoney(payment.state) ? this.reconcilePayment.reconcile(payment.id, context) : { payment };
  }

  /** Payment, journal, receipts, subscription and event are one commit. @returns why not, where the money is owed back instead. */
  private async start(tx: Tx, paymentId: string, context: RequestContext): Promise<Refusal | undefined> {
    const payment = await this.reconcilePayment.lock(tx, paymentId);
    if (payment.state !== 'verified' || !isForSubscription(payment)) return undefined;
    const { buyer_id: consumerId, seller_id: sellerId } = payment;
    if (payment.retry_until! <= payment.as_of) return this.markRefundDue(tx, payment, context);
    await this.budgets.reserve(tx, payment, context);
    const listing = { id: payment.listing_id, name: payment.listing_name, slug: payment.listing_slug };
    const started = await this.subscriptions.start(
      tx,
      {
        consumerId,
        sellerId,
        listing,
        pricingModel: payment.pricing_model,
        priceMicros: BigInt(payment.gross_micros),
        paymentId,
      },
      context,
    );
    if (!started) return this.markRefundDue(tx, payment, context);
    const at = payment.as_of;
    const { buyer, seller } = receiptsOf(payment, at);
    await this.journal.record(
      tx,
      [
        {
          entry: subscriptionStarted({ paymentId, buyerId: consumerId, sellerId, money: splitOf(payment) }),
          payment,
          sale: { payer: null, buyer, seller },
        },
      ],
      at,
    );
    await tx.query(complete, [paymentId, at, buyer.id, buyer.recipient_id, seller.id, seller.recipient_id]);
    return undefined;
  }

  private async markRefundDue(tx: Tx, payment: LockedPayment, context: RequestContext): Promise<Refusal | undefined> {
    await this.reconcilePayment.markNotDelivered(tx, payment, context);
    const active = await this.subscriptions.activeId(tx, payment.buyer_id, payment.listing_id);
    return active === undefined ? undefined : refuse(verifyPayment, 'already_subscribed', { subscription_id: active });
  }

  private async find(paymentId: string): Promise<PaymentRow> {
    const [row] = await this.database.query<PaymentRow>(find, [paymentId]);
    invariant(row, `payment ${paymentId} exists`);
    return row;
  }

  private async explain(row: PaymentRow, missing: Looked['missing'] = 'payment_unknown'): Promise<Output> {
    switch (row.state) {
      case 'completed':
        return this.result(row);
      case 'underpaid': {
        const received = BigInt(row.received_base_units);
        const missing = BigInt(row.amount_base_units) - received;
        throw refuse(verifyPayment, 'payment_underpaid', {
          received: formatDecimal(received, row.decimals),
          missing: formatDecimal(missing, row.decimals),
          currency: row.currency,
        });
      }
      case 'expired':
        throw refuse(verifyPayment, 'payment_expired', {});
      case 'failed':
        throw refuse(verifyPayment, 'payment_failed', {});
      case 'cancelled':
        throw refuse(verifyPayment, 'payment_cancelled', {});
      case 'refund_due':
      case 'refunded':
        throw refuse(verifyPayment, 'payment_refund_due', { status: row.state, amount: usdNumber(owedMicros(row)) });
      default:
        if (missing === 'unpaid') throw refuse(verifyPayment, 'payment_unpaid', {});
        return {
          outcome: 'pending',
          payment_id: row.id,
          relay_request_id: row.relay_request_id,
          retry_after_seconds: RETRY_SECONDS,
          reason: missing,
        };
    }
  }

  /** What the first verification answered: the subscription as it began, whatever became of it since. */
  private async result(row: PaymentRow): Promise<Output> {
    const [started] = await this.database.query<SubscriptionRow>(findStarted, [row.id]);
    invariant(started && row.completed_at, `payment ${row.id} started a subscription`);
    return {
      outcome: 'completed',
      subscription: toSubscriptionView({ ...started, status: 'active' }),
      payment: {
        payment_id: row.id,
        requirements: requirementsOf(row),
        fees: feesOf(row),
        status: 'completed',
        transaction_hash: row.transaction_hash ?? '',
        completed_at: row.completed_at.toISOString(),
      },
    };
  }
}

const mismatch = (field: string, problem: string): Refusal =>
  refuse(verifyPayment, 'payment_mismatch', { field, problem });
