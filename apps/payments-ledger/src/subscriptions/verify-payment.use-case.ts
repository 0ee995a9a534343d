import type { InputOf, OutputOf } from '@market/contracts';
import { type PendingReason, settlePayment, verifyPayment } from '@market/contracts/payments-ledger';
import { formatDecimal, invariant, usdNumber } from '@market/kernel';
import { HandleRequest, isRefusal, principalOf, type Refusal, refuse, type RequestContext } from '@market/messaging';
import { Database, sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { Budgets } from '../budgets/budgets.js';
import { parsePayload } from '../rails/x402/exact-payment.js';
import { Authorizations } from '../payments/authorizations.js';
import { ReconcilePayment, type LockedPayment } from '../payments/reconcile-payment.js';
import { mayGetMoney } from '../payments/payment-state.js';
import { PaySandbox } from '../payments/pay-sandbox.use-case.js';
import {
  feesOf,
  isForSubscription,
  owedMicros,
  paymentsAndOffers,
  paysBySignature,
  requirementsOf,
  type PaymentRow,
  type SubscriptionPaymentRow,
} from '../payments/payment.js';
import { SettleAuthorization } from '../payments/settle-authorization.js';
import { OfferedListing } from './offered-listing.js';
import { StartSubscription } from './start-subscription.js';
import { subscriptionColumns, toSubscriptionView, type SubscriptionRow } from './subscription.js';
import { Subscriptions } from './subscriptions.js';
import { isSame, isSigned, readSandboxPayload } from './x402-payload.js';

type Input = InputOf<typeof verifyPayment>;
type Output = OutputOf<typeof verifyPayment>;

const find = sql('payments.find-to-verify', `SELECT * FROM ${paymentsAndOffers('p.id = $1')} p`);
const findByRelayId = sql(
  'payments.find-to-verify-by-relay-id',
  `SELECT * FROM ${paymentsAndOffers('p.relay_request_id = $1')} p`,
);
const findStarted = sql(
  'subscriptions.of-payment',
  `SELECT ${subscriptionColumns} FROM subscriptions s WHERE s.payment_id = $1`,
);

const RETRY_SECONDS = 2;

interface Reconciliation {
  payment: PaymentRow;
  missing?: PendingReason | 'unpaid';
}

/**
 * Starts the subscription that a payment is for, once the money has arrived. A signed authorization is held, then
 * settled, and its settlement starts the subscription. If a process stops in between, the next request or the
 * settlement job continues.
 */
@Injectable()
export class VerifyPayment {
  constructor(
    private readonly database: Database,
    private readonly reconcilePayment: ReconcilePayment,
    private readonly paySandbox: PaySandbox,
    private readonly listings: OfferedListing,
    private readonly subscriptions: Subscriptions,
    private readonly startSubscription: StartSubscription,
    private readonly authorizations: Authorizations,
    private readonly settleAuthorization: SettleAuthorization,
    private readonly budgets: Budgets,
  ) {}

  @HandleRequest(verifyPayment)
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
    if (reconciled.state !== 'verified' || paysBySignature(reconciled)) return this.explain(reconciled, missing);
    if (!(await this.listings.isDelivered(payment.listing_id, context)))
      throw refuse(verifyPayment, 'listing_unavailable', { retry_until: reconciled.retry_until!.toISOString() });
    const refused = await this.database.transaction((tx) => this.start(tx, reconciled.id, context));
    if (refused) throw refused;
    return this.explain(await this.find(reconciled.id));
  }

  /**
   * @throws Refusal when the payment is not the caller's, is not for a subscription, or when the proof is for another
   * payment.
   */
  private async findOwn(
    { payment_id, listing_id, relay_request_id, payload, scheme, network }: Input,
    context: RequestContext,
  ): Promise<SubscriptionPaymentRow> {
    const [row] = await (payment_id === undefined
      ? this.database.query<PaymentRow>(findByRelayId, [relay_request_id])
      : this.database.query<PaymentRow>(find, [payment_id]));
    if (row?.buyer_id !== principalOf(context).accountId || row.purpose === 'fee')
      throw refuse(verifyPayment, 'payment_not_found', {});
    if (!isForSubscription(row))
      throw refuse(verifyPayment, 'payment_of_call', { relay_request_id: row.relay_request_id });
    if (listing_id !== undefined && listing_id !== row.listing_id)
      throw mismatch('listing_id', 'is not what this payment is for');
    if (relay_request_id !== undefined && relay_request_id !== row.relay_request_id)
      throw mismatch('relay_request_id', 'is that of another payment');
    const signed = payload !== undefined && isSigned(payload) && scheme === 'exact';
    if (scheme !== undefined && scheme !== row.scheme && !signed) throw mismatch('scheme', `must be ${row.scheme}`);
    if (network !== undefined && network !== row.network) throw mismatch('network', `must be ${row.network}`);
    return row;
  }

  private async reconcile(
    payment: SubscriptionPaymentRow,
    { payload }: Input,
    context: RequestContext,
  ): Promise<Reconciliation> {
    if (payload !== undefined) {
      const read =
        payment.rail === this.paySandbox.railId && !isSigned(payload) && readSandboxPayload(payment, payload);
      const text = JSON.stringify(payload);
      if (!read && !this.authorizations.requirementsOf(payment, parsePayload(text)))
        throw mismatch('payload', `is not taken by this payment of ${payment.rail}; send relay_request_id`);
      if (!read) return this.paySigned(payment, text, context);
      if ('problem' in read) throw mismatch('payload', read.problem);
      if (mayGetMoney(payment.state)) await this.paySandbox.pay(payment.id, read.outcome, context);
    }
    if (payment.authorization_id !== null) return this.paySigned(payment, undefined, context);
    return mayGetMoney(payment.state) ? this.reconcilePayment.reconcile(payment.id, context, 'recent') : { payment };
  }

  /**
   * Holds and settles an authorization after the listing and the budget were checked. An authorization that an earlier
   * request held is settled by this one.
   * @throws Refusal `payment_rejected`, or the reason why the subscription cannot start.
   */
  private async paySigned(
    payment: SubscriptionPaymentRow,
    authorization: string | undefined,
    context: RequestContext,
  ): Promise<Reconciliation> {
    const isPending = payment.state === 'pending' && authorization !== undefined;
    if (!isPending && !(payment.state === 'verified' && paysBySignature(payment)))
      return { payment, missing: payment.state === 'indeterminate' ? 'settlement_unknown' : 'unpaid' };
    if (!(await this.listings.isActive(payment.listing_id, context)))
      throw refuse(verifyPayment, 'listing_unavailable', { retry_until: payment.expires_at.toISOString() });
    const active = await this.subscriptions.activeId(this.database, payment.buyer_id, payment.listing_id);
    if (active !== undefined) throw refuse(verifyPayment, 'already_subscribed', { subscription_id: active });
    if (isPending) {
      await this.budgets.check(payment, context);
      const examined = await this.authorizations.examine(payment, authorization, 0, context);
      const holding =
        'rejected' in examined
          ? examined
          : await this.database.transaction((tx) => this.authorizations.hold(tx, payment.id, examined));
      if ('rejected' in holding) throw refuse(verifyPayment, 'payment_rejected', { rejection: holding.rejected });
    }
    await this.settle(payment.id, context);
    const settled = await this.find(payment.id);
    if (settled.state === 'pending') return this.reconcilePayment.reconcile(payment.id, context);
    return { payment: settled, missing: 'settlement_unknown' };
  }

  private async settle(paymentId: string, context: RequestContext): Promise<void> {
    const begun = await this.database.transaction(async (tx) => {
      const payment = await this.reconcilePayment.lock(tx, paymentId);
      if (payment.state !== 'verified' || !paysBySignature(payment) || payment.retry_until! <= payment.as_of)
        return null;
      await this.budgets.reserve(tx, payment, context);
      return this.settleAuthorization.beginFirst(tx, payment);
    });
    try {
      if (begun) await this.settleAuthorization.settleFirst(begun, context);
    } catch (error) {
      if (isRefusal(error, settlePayment, 'settlement_refused'))
        throw refuse(verifyPayment, 'payment_rejected', { rejection: error.details.reason as string });
      if (!isRefusal(error, settlePayment, 'settlement_unknown')) throw error;
    }
  }

  /**
   * Writes payment, journal, receipts, subscription and event in one commit, or marks the payment as refund due.
   * @returns the refusal if the buyer has subscribed meanwhile.
   */
  private async start(tx: Tx, paymentId: string, context: RequestContext): Promise<Refusal | undefined> {
    const payment = await this.reconcilePayment.lock(tx, paymentId);
    if (payment.state !== 'verified' || !isForSubscription(payment)) return undefined;
    if (payment.retry_until! <= payment.as_of) return this.markRefundDue(tx, payment, context);
    await this.budgets.reserve(tx, payment, context);
    return (await this.startSubscription.execute(tx, payment, context))
      ? undefined
      : this.markRefundDue(tx, payment, context);
  }

  private async markRefundDue(
    tx: Tx,
    payment: LockedPayment & SubscriptionPaymentRow,
    context: RequestContext,
  ): Promise<Refusal | undefined> {
    await this.reconcilePayment.markNotDelivered(tx, payment, context);
    const active = await this.subscriptions.activeId(tx, payment.buyer_id, payment.listing_id);
    return active === undefined ? undefined : refuse(verifyPayment, 'already_subscribed', { subscription_id: active });
  }

  private async find(paymentId: string): Promise<PaymentRow> {
    const [row] = await this.database.query<PaymentRow>(find, [paymentId]);
    invariant(row, `payment ${paymentId} exists`);
    return row;
  }

  private async explain(row: PaymentRow, missing: Reconciliation['missing'] = 'payment_unknown'): Promise<Output> {
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

  /** The answer of the first verification: the subscription as it began, whatever happened to it since. */
  private async result(row: PaymentRow): Promise<Output> {
    const [started] = await this.database.query<SubscriptionRow>(findStarted, [row.id]);
    invariant(started && row.completed_at, `payment ${row.id} started a subscription`);
    return {
      outcome: 'completed',
      subscription: toSubscriptionView({
        ...started,
        status: 'active',
        quota: started.quota && { ...started.quota, used: 0 },
      }),
      payment: {
        payment_id: row.id,
        requirements: requirementsOf(row),
        fees: feesOf(row),
        status: 'completed',
        transaction_hash: row.transaction_hash ?? '',
        completed_at: row.completed_at.toISOString(),
      },
      provider: row.rail,
      transfer: await this.settleAuthorization.transferOf(row),
    };
  }
}

const mismatch = (field: string, problem: string): Refusal =>
  refuse(verifyPayment, 'payment_mismatch', { field, problem });
