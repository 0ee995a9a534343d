import { claimPayment, settlePayment, type PendingReason } from '@market/contracts/payments-ledger';
import type { InputOf, OutputOf } from '@market/contracts';
import { formatDecimal } from '@market/kernel';
import { isRefusal, principalOf, refuse, type RequestContext } from '@market/messaging';
import { batchSql, Database, GroupCommit, GroupLookup, lookupSql, sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { Budgets } from '../budgets/budgets.js';
import { Authorizations, payerKeyOf, type Held, type Rejection } from './authorizations.js';
import { ClaimHolders } from './claim-holders.js';
import { ClaimSignedPayment, type SignedCall } from './claim-signed-payment.js';
import { ReconcilePayment, type LockedPayment } from './reconcile-payment.js';
import { mayGetMoney } from './payment-state.js';
import {
  isForCall,
  paymentColumns,
  paysBySignature,
  toClaim,
  toOffer,
  type CallPaymentRow,
  type PaymentRow,
} from './payment.js';
import { releaseClaim } from './release-payment.use-case.js';
import { SettleAuthorization } from './settle-authorization.js';

type Input = InputOf<typeof claimPayment>;
type Output = OutputOf<typeof claimPayment>;
type Claim = Input & { buyerId: string };
type Found = CallPaymentRow & LockedPayment;
type Holding = Held | Rejection | null;

/** Each id is looked up separately, in the given order, because a join would read every verified payment. */
const claim = batchSql(
  `WITH claimable AS (
     SELECT p.id, w.lease_ms, w.holder_id
     FROM unnest($1::text[], $2::uuid[], $3::uuid[], $4::bytea[], $5::int[], $6::uuid[])
       AS w (relay_request_id, buyer_id, listing_id, body_digest, lease_ms, holder_id)
     CROSS JOIN LATERAL (
       SELECT id FROM payments p
       WHERE p.relay_request_id = w.relay_request_id AND p.buyer_id = w.buyer_id
         AND p.listing_id = w.listing_id AND p.body_digest = w.body_digest
         AND p.state = 'verified' AND p.retry_until > now() AND (p.authorization_id IS NULL OR p.transaction_hash IS NOT NULL)
       FOR UPDATE
     ) p
   )
   UPDATE payments p SET state = 'in_flight', fence = p.fence + 1, holder_id = c.holder_id, claimed_at = now(),
     lease_until = now() + c.lease_ms * interval '1 millisecond'
   FROM claimable c WHERE p.id = c.id
   RETURNING ${paymentColumns('p')}`,
);
const find = sql(
  'payments.find-by-relay-id',
  lookupSql(
    `SELECT ${paymentColumns('p')}, p.expires_at <= now() AS is_expired, now() AS as_of
     FROM payments p WHERE p.relay_request_id = asked.key`,
  ),
);

const lock = sql(
  'payments.lock-by-relay-id',
  `SELECT ${paymentColumns('p')} FROM payments p WHERE relay_request_id = $1 FOR UPDATE`,
);

const PENDING_RETRY_SECONDS = 2;

/**
 * Claims a payment, which is the right to call the seller. Exactly one of any number of concurrent claims succeeds; the
 * others get the payment's state. Claims of verified payments share one statement and one commit. A claim whose lease
 * has expired or whose holder has stopped is released first, by its fence, so that only one of its successors succeeds.
 * Payments that are only signed are claimed by `ClaimSignedPayment`.
 */
@Injectable()
export class ClaimPayment {
  private readonly claims = new GroupCommit<Claim, CallPaymentRow | null>((items) => this.write(items));
  private readonly holdings = new GroupCommit<SignedCall, Holding>((calls) => this.holdAll(calls), {
    keyOf: ({ payment }) => payment.id,
  });
  private readonly payments: GroupLookup<LockedPayment>;

  constructor(
    private readonly database: Database,
    private readonly reconcilePayment: ReconcilePayment,
    private readonly authorizations: Authorizations,
    private readonly settleAuthorization: SettleAuthorization,
    private readonly claimSigned: ClaimSignedPayment,
    private readonly holders: ClaimHolders,
    private readonly budgets: Budgets,
  ) {
    this.payments = new GroupLookup(database, find);
  }

  async execute(input: Input, context: RequestContext): Promise<Output> {
    const request = { ...input, buyerId: principalOf(context).accountId };
    // A payment that comes with a signature is rarely paid already, so it is not claimed at once.
    const claimed = input.authorization === undefined ? await this.take(request, context) : null;
    if (claimed) return toClaim(claimed);
    const current = await this.findOwn(request);
    if (input.authorization !== undefined && current.state === 'verified' && !paysBySignature(current)) {
      const paid = await this.take(request, context);
      if (paid) return toClaim(paid);
    }
    const outcome = this.holders.isAbandoned(current)
      ? await this.database.query(releaseClaim, [current.id, current.fence]).then(() => undefined)
      : await this.awaitMoney(current, input, context);
    if (outcome) return outcome;
    const isSigned = (row: PaymentRow): boolean => paysBySignature(row) && row.state === 'verified';
    const found = isSigned(current) ? current : await this.findOwn(request);
    const signed = isSigned(found) ? await this.claimBySignature(found, input, context) : undefined;
    if (signed) return signed;
    const second = await this.take(request, context);
    return second ? toClaim(second) : this.explain(await this.findOwn(request));
  }

  /**
   * With a budget, the payment is counted in the transaction of its claim. Without one, claims share a statement and a
   * commit.
   */
  private take(request: Claim, context: RequestContext): Promise<CallPaymentRow | null> {
    if (!principalOf(context).budgets) return this.claims.submit(request);
    return this.database.transaction(async (tx) => {
      const [payment] = await tx.query<PaymentRow>(lock, [request.relayRequestId]);
      const isClaimable =
        payment?.state === 'verified' && isForCall(payment) && matches(payment, request) && !paysBySignature(payment);
      if (isClaimable) await this.budgets.reserve(tx, payment, context);
      return (await this.write([request], tx))[0] ?? null;
    });
  }

  private async claimBySignature(
    payment: CallPaymentRow,
    input: Input,
    context: RequestContext,
  ): Promise<Output | undefined> {
    try {
      const outcome = await this.claimSigned.execute(payment, input, context);
      if ('rejected' in outcome) return this.reject(payment, outcome.rejected);
      return outcome.claimed ? toClaim(outcome.claimed) : undefined;
    } catch (error) {
      if (isRefusal(error, settlePayment, 'settlement_refused'))
        return this.reject(payment, error.details.reason as string);
      if (isRefusal(error, settlePayment, 'settlement_unknown')) return undefined;
      throw error;
    }
  }

  /**
   * @returns why the payment cannot be claimed, or its claim if a signature pays it; undefined if it can be claimed
   * now.
   */
  private async awaitMoney(current: Found, input: Input, context: RequestContext): Promise<Output | undefined> {
    if (current.state === 'verified' && paysBySignature(current)) return undefined;
    if (!mayGetMoney(current.state) || current.authorization_id !== null) return this.explain(current);
    const { payment: observed, missing } = await this.reconcilePayment.reconcileFound(current, context);
    if (observed.state === 'pending' && missing !== 'payment_not_final' && input.authorization !== undefined)
      return this.holdAndClaim(current, input.authorization, input, context);
    return observed.state === 'verified'
      ? undefined
      : this.explain({ ...current, state: observed.state, received_base_units: observed.received_base_units }, missing);
  }

  private async holdAndClaim(
    payment: Found,
    text: string,
    input: Input,
    context: RequestContext,
  ): Promise<Output | undefined> {
    await this.budgets.check(payment, context);
    const examined = await this.authorizations.examine(payment, text, input.leaseMs);
    if ('rejected' in examined) return this.reject(payment, examined.rejected);
    const { requirements, authorization } = examined;
    const funds = await this.claimSigned.fundsOf(payerKeyOf(requirements, authorization.payer), examined);
    const call = { payment, examined, funds, holderId: input.holderId, context };
    const result = (await this.holdings.submit(call)) ?? {
      rejected: await this.authorizations.reasonAgainst({ paymentId: payment.id, examined }),
    };
    if ('rejected' in result) return this.reject(payment, result.rejected);
    return result.held?.state === 'in_flight' && isForCall(result.held) ? toClaim(result.held) : undefined;
  }

  /**
   * Signatures that arrive together are held in one transaction.
   * @returns null for a signature that was used before.
   */
  private async holdAll(calls: SignedCall[]): Promise<Holding[]> {
    const ids = calls.map(({ payment }) => payment.id);
    const { results, sent } = await this.database.transaction(async (tx) => {
      const payerKeys = calls.map(({ funds }) => funds.payer);
      // They share a round trip and run in this order: existing payments are locked before payers everywhere.
      const [payments, payers] = await Promise.all([
        this.reconcilePayment.lockAll(tx, ids),
        this.claimSigned.lockPayers(tx, payerKeys),
      ]);
      const results = await this.authorizations.unpayableOf(tx, [...payments.values()]);
      for (const id of ids) if (!payments.has(id)) results.set(id, { held: null });
      const payable = calls.filter(({ payment }) => !results.has(payment.id));
      const sent = this.authorizations.sendAll(
        tx,
        payable.map((call) => {
          const payment = payments.get(call.payment.id)!;
          const holderId = this.claimSigned.holderOf({ ...call, payment }, payers);
          return { paymentId: payment.id, examined: call.examined, holderId };
        }),
      );
      return { results, sent };
    });
    for (const row of await sent.rows) results.set(row.id, { held: row });
    return ids.map((id) => results.get(id) ?? null);
  }

  private reject(payment: PaymentRow, reason: string): Output {
    return { outcome: 'rejected', reason, offer: toOffer(payment, this.authorizations.requirementsOf(payment)) };
  }

  /** Ids are sorted, so that two processes that claim the same ids do not deadlock. */
  private async write(claims: Claim[], through: Pick<Tx, 'query'> = this.database): Promise<(CallPaymentRow | null)[]> {
    const items = claims.toSorted((a, b) => (a.relayRequestId < b.relayRequestId ? -1 : 1));
    const rows = await through.query<CallPaymentRow>(claim, [
      items.map((item) => item.relayRequestId),
      items.map((item) => item.buyerId),
      items.map((item) => item.listingId),
      items.map((item) => Buffer.from(item.bodyDigest, 'hex')),
      items.map((item) => item.leaseMs),
      items.map((item) => item.holderId),
    ]);
    const granted = new Map(rows.map((row) => [row.relay_request_id, row]));
    return claims.map((item) => {
      const row = granted.get(item.relayRequestId);
      // If an id occurs twice in a group, only the first request gets the claim.
      if (row && matches(row, item) && granted.delete(item.relayRequestId)) return row;
      return null;
    });
  }

  private async findOwn(request: Claim): Promise<Found> {
    const [row] = await this.payments.find(request.relayRequestId);
    if (!row || row.buyer_id !== request.buyerId || !isForCall(row))
      throw refuse(claimPayment, 'payment_not_found', {});
    if (row.listing_id !== request.listingId) throw refuse(claimPayment, 'listing_mismatch', {});
    if (row.body_digest.toString('hex') !== request.bodyDigest) throw refuse(claimPayment, 'request_body_mismatch', {});
    return row;
  }

  private async explain(row: Found, missing: PendingReason | 'unpaid' = 'payment_unknown'): Promise<Output> {
    switch (row.state) {
      case 'completed':
        return {
          outcome: 'completed',
          gatewayRequestId: row.gateway_request_id,
          transfer: await this.settleAuthorization.transferOf(row),
        };
      case 'in_flight':
      case 'verified':
        return { outcome: 'in_flight', gatewayRequestId: row.gateway_request_id };
      case 'pending':
      case 'indeterminate': {
        const reason = row.state === 'indeterminate' ? 'settlement_unknown' : missing;
        if (reason === 'unpaid')
          return { outcome: 'unpaid', offer: toOffer(row, this.authorizations.requirementsOf(row)) };
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
          offer: toOffer(row, null),
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

const matches = (row: CallPaymentRow, item: Claim): boolean =>
  row.buyer_id === item.buyerId &&
  row.listing_id === item.listingId &&
  row.body_digest.toString('hex') === item.bodyDigest;
