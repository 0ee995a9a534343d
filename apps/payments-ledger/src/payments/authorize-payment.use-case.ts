import {
  authorizePayment,
  type PaymentOffer,
  type PendingReason,
  settlePayment,
} from '@market/contracts/payments-ledger';
import type { InputOf, OutputOf } from '@market/contracts';
import { formatDecimal } from '@market/kernel';
import { HandleRequest, isRefusal, principalOf, refuse, type RequestContext } from '@market/messaging';
import { Database, GroupCommit, GroupLookup, isUniqueViolation, lookupSql, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { Budgets } from '../budgets/budgets.js';
import { Authorizations, payerKeyOf, type Held, type Rejection } from './authorizations.js';
import { AuthorizeSignedPayment, isInUse, type SignedCall } from './authorize-signed-payment.js';
import { ReconcilePayment, type LockedPayment } from './reconcile-payment.js';
import { mayGetMoney } from './payment-state.js';
import {
  isForCall,
  paymentsAndOffers,
  paysBySignature,
  toAuthorized,
  toOffer,
  type CallPaymentRow,
  type PaymentRow,
} from './payment.js';
import { SettleAuthorization } from './settle-authorization.js';

type Input = InputOf<typeof authorizePayment>;
type Output = OutputOf<typeof authorizePayment>;
type Found = CallPaymentRow & LockedPayment;
type HoldResult = Held | Rejection | null;

const find = sql(
  'payments.find-by-relay-id',
  lookupSql(
    `SELECT p.*, p.expires_at <= now() AS is_expired, now() AS as_of
     FROM ${paymentsAndOffers('p.relay_request_id = asked.key')} p LIMIT 1`,
  ),
);

const PENDING_RETRY_SECONDS = 2;

/**
 * Says whether a payment pays for a call now. The gateway asks while it holds the lock of the call, so that only one
 * attempt at a time gets this answer. For money that has arrived it is one look-up that concurrent calls share, and one
 * transaction if the key has a budget. Payments that are only signed are the part of `AuthorizeSignedPayment`.
 */
@Injectable()
export class AuthorizePayment {
  private readonly holdings = new GroupCommit<SignedCall, HoldResult>((calls) => this.holdAll(calls), {
    keyOf: ({ payment }) => payment.id,
  });
  private readonly payments: GroupLookup<LockedPayment>;

  constructor(
    private readonly database: Database,
    private readonly reconcilePayment: ReconcilePayment,
    private readonly authorizations: Authorizations,
    private readonly settleAuthorization: SettleAuthorization,
    private readonly signed: AuthorizeSignedPayment,
    private readonly budgets: Budgets,
  ) {
    this.payments = new GroupLookup(database, find);
  }

  /**
   * A payment that has arrived costs one shared look-up. A signature costs two statements, a request to the facilitator,
   * and one transaction of five statements.
   */
  @HandleRequest(authorizePayment)
  async execute(input: Input, context: RequestContext): Promise<Output> {
    const { accountId } = principalOf(context);
    const current = await this.findOwn(input, accountId);
    const outcome = (await this.authorize(current, input, context)) ?? (await this.awaitMoney(current, input, context));
    if (outcome) return outcome;
    // The money is there now, or is only signed for. In the latter case it may have to move first.
    for (let round = 1; round <= 2; round += 1) {
      const authorized = await this.authorize(await this.findOwn(input, accountId), input, context);
      if (authorized) return authorized;
    }
    return this.explain(await this.findOwn(input, accountId), input, context);
  }

  /** @returns undefined if the payment, as it is, pays for no call. */
  private async authorize(payment: Found, input: Input, context: RequestContext): Promise<Output | undefined> {
    if (payment.state !== 'verified' || payment.retry_until! <= payment.as_of) return undefined;
    if (paysBySignature(payment))
      return isInUse(payment, payment.as_of, input.callMs)
        ? toAuthorized(payment)
        : this.authorizeSigned(payment, input, context);
    if (!principalOf(context).budgets || payment.reserved_on !== null) return toAuthorized(payment);
    return this.database.transaction(async (tx) => {
      const locked = await this.reconcilePayment.lock(tx, payment.id);
      if (locked.state !== 'verified') return undefined;
      await this.budgets.reserve(tx, locked, context);
      return toAuthorized(payment);
    });
  }

  private async authorizeSigned(
    payment: CallPaymentRow,
    input: Input,
    context: RequestContext,
  ): Promise<Output | undefined> {
    try {
      const outcome = await this.signed.execute(payment, input, context);
      if ('rejected' in outcome) return await this.reject(payment, outcome.rejected, context);
      return outcome.authorized ? toAuthorized(outcome.authorized) : undefined;
    } catch (error) {
      if (isRefusal(error, settlePayment, 'settlement_refused'))
        return this.reject(payment, error.details.reason as string, context);
      if (isRefusal(error, settlePayment, 'settlement_unknown')) return undefined;
      throw error;
    }
  }

  /**
   * @returns why the payment cannot be authorized, or its authorization if a signature pays it; undefined if it may be
   * authorized now.
   */
  private async awaitMoney(current: Found, input: Input, context: RequestContext): Promise<Output | undefined> {
    if (current.state === 'verified' && paysBySignature(current)) return undefined;
    if (!mayGetMoney(current.state) || current.authorization_id !== null) return this.explain(current, input, context);
    const { payment: observed, missing } = await this.reconcilePayment.reconcileFound(current, context, 'recent');
    if (observed.state === 'pending' && missing !== 'payment_not_final' && input.authorization !== undefined)
      return this.hold(current, input.authorization, input, context);
    return observed.state === 'verified'
      ? undefined
      : this.explain(
          { ...current, state: observed.state, received_base_units: observed.received_base_units },
          input,
          context,
          missing,
        );
  }

  private async hold(payment: Found, text: string, input: Input, context: RequestContext): Promise<Output | undefined> {
    await this.budgets.check(payment, context);
    const examined = await this.authorizations.examine(payment, text, input.callMs, context);
    if ('rejected' in examined) return this.reject(payment, examined.rejected, context);
    const { requirements, authorization } = examined;
    const funds = await this.signed.fundsOf(payerKeyOf(requirements, authorization.payer), examined);
    const call = { payment, examined, funds, context };
    const held = await this.holdings.submit(call);
    if (!held) {
      const open = await this.authorizations.findOpenCall(payment);
      if (open && open.id !== payment.id) return { outcome: 'joined', relayRequestId: open.relay_request_id };
      const underOther = open ? undefined : await this.authorizations.findCallUnderWay(funds.payer, examined, payment);
      if (underOther && !underOther.is_unanswered) return { outcome: 'under_way' };
    }
    const result = held ?? {
      rejected: await this.authorizations.reasonAgainst({ paymentId: payment.id, examined }),
    };
    if ('rejected' in result) return this.reject(payment, result.rejected, context);
    return result.held?.in_use_until && isForCall(result.held) ? toAuthorized(result.held) : undefined;
  }

  /**
   * Signatures that arrive together are held in one transaction.
   * @returns null for a signature that was used before, or whose call another payment of the buyer pays.
   */
  private async holdAll(calls: SignedCall[]): Promise<HoldResult[]> {
    try {
      return await this.holdTogether(calls);
    } catch (error) {
      if (calls.length === 1 && isUniqueViolation(error, 'payments_open_call')) return [null];
      throw error;
    }
  }

  private async holdTogether(calls: SignedCall[]): Promise<HoldResult[]> {
    const ids = calls.map(({ payment }) => payment.id);
    const { results, sent } = await this.database.transaction(async (tx) => {
      this.reconcilePayment.store(tx, ids);
      const payerKeys = calls.map(({ funds }) => funds.payer);
      // They share a round trip and run in this order: existing payments are locked before payers everywhere.
      const [payments, payers] = await Promise.all([
        this.reconcilePayment.lockAll(tx, ids),
        this.signed.lockPayers(tx, payerKeys),
      ]);
      const results = await this.authorizations.unpayableOf(tx, [...payments.values()]);
      for (const id of ids) if (!payments.has(id)) results.set(id, { held: null });
      const payable = calls.filter(({ payment }) => !results.has(payment.id));
      const sent = this.authorizations.sendAll(
        tx,
        payable.map((call) => {
          const payment = payments.get(call.payment.id)!;
          const isUsed = this.signed.mayBeUsed({ ...call, payment }, payers);
          return { paymentId: payment.id, examined: call.examined, isUsed };
        }),
      );
      return { results, sent };
    });
    for (const row of await sent.rows) results.set(row.id, { held: row });
    return ids.map((id) => results.get(id) ?? null);
  }

  private async reject(payment: PaymentRow, reason: string, context: RequestContext): Promise<Output> {
    return { outcome: 'rejected', reason, offer: await this.offerOf(payment, context) };
  }

  private async offerOf(payment: PaymentRow, context: RequestContext): Promise<PaymentOffer> {
    return toOffer(payment, await this.authorizations.acceptsOf(payment, context));
  }

  private async findOwn(request: Input, accountId: string): Promise<Found> {
    const [row] = await this.payments.find(request.relayRequestId);
    if (!row || row.buyer_id !== accountId || !isForCall(row)) throw refuse(authorizePayment, 'payment_not_found', {});
    if (row.listing_id !== request.listingId) throw refuse(authorizePayment, 'listing_mismatch', {});
    if (row.body_digest.toString('hex') !== request.bodyDigest)
      throw refuse(authorizePayment, 'request_body_mismatch', {});
    return row;
  }

  private async explain(
    row: Found,
    { isResumed }: Input,
    context: RequestContext,
    missing: PendingReason | 'unpaid' = 'payment_unknown',
  ): Promise<Output> {
    switch (row.state) {
      case 'completed':
        if (row.is_unanswered && !isResumed) await this.settleAuthorization.markAnswered(row);
        return {
          outcome: 'completed',
          gatewayRequestId: row.gateway_request_id,
          transfer: await this.settleAuthorization.transferOf(row),
        };
      case 'verified':
      case 'pending':
      case 'indeterminate': {
        const reason = row.state === 'indeterminate' ? 'settlement_unknown' : missing;
        if (reason === 'unpaid') return { outcome: 'unpaid', offer: await this.offerOf(row, context) };
        return {
          outcome: 'pending',
          gatewayRequestId: row.gateway_request_id,
          retryAfterSeconds: PENDING_RETRY_SECONDS,
          reason,
        };
      }
      case 'underpaid': {
        const received = BigInt(row.received_base_units);
        return {
          outcome: 'underpaid',
          offer: toOffer(row, []),
          received: formatDecimal(received, row.decimals),
          missing: formatDecimal(BigInt(row.amount_base_units) - received, row.decimals),
        };
      }
      case 'expired':
        return { outcome: 'not_payable', reason: 'offer_expired' };
      case 'failed':
        return { outcome: 'not_payable', reason: 'payment_failed' };
      default:
        return { outcome: 'not_payable', reason: row.state };
    }
  }
}
