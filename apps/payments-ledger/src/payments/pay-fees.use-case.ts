import { createHash } from 'node:crypto';
import type { InputOf, OutputOf } from '@market/contracts';
import { payFees, settlePayment } from '@market/contracts/payments-ledger';
import { invariant, newId, type Micros } from '@market/kernel';
import { HandleRequest, isRefusal, principalOf, refuse, type RequestContext } from '@market/messaging';
import { Database, sql, type Tx } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { toUsdAmount } from '../fees/usd-amount.js';
import { openExactRoutes, type ExactRoute } from '../rails/exact-routes.js';
import { PAYMENT_RAILS, type PaymentRail } from '../rails/payment-rail.js';
import { PLAY_PAYEE, SandboxRail } from '../rails/sandbox/sandbox.rail.js';
import { isSolana, parsePayload } from '../rails/x402/exact-payment.js';
import { Authorizations, type Checked } from './authorizations.js';
import { ReconcilePayment } from './reconcile-payment.js';
import { paymentColumns, type PaymentRow } from './payment.js';
import type { AuthorizationRow } from './authorization-rows.js';
import { SettleAuthorization } from './settle-authorization.js';
import { UnstoredOffers, type UnstoredOffer } from './unstored-offers.js';

type Output = OutputOf<typeof payFees>;
/**
 * The result of submitting an authorization: it is held and must be settled, its payment exists already, or it was
 * rejected.
 */
type Submitted = { toSettle: AuthorizationRow } | { known: PaymentRow } | { rejected: string };

const debt = sql('fees.due', `SELECT greatest(-balance_micros, 0) AS due FROM balances WHERE address = $1`);
/** Serializes the payments of one seller, so that together they pay no more than is due. */
const lockSeller = sql(
  'fees.lock-seller',
  `INSERT INTO fee_standings (seller_id) VALUES ($1) ON CONFLICT (seller_id) DO UPDATE SET seller_id = excluded.seller_id`,
);
const unsettled = sql(
  'fees.unsettled',
  `SELECT coalesce(sum(gross_micros), 0) AS micros FROM payments WHERE buyer_id = $1 AND purpose = 'fee' AND state = 'indeterminate'`,
);
const find = sql('fees.find-payment', `SELECT ${paymentColumns('p')} FROM payments p WHERE relay_request_id = $1`);
const insert = sql(
  'fees.insert-payment',
  `INSERT INTO payments (id, relay_request_id, purpose, offer_key, state, buyer_id, rail, scheme, network, currency,
     decimals, pay_to, payee, gross_micros, fee_micros, net_micros, fee_bps, amount_base_units, expires_at, keyless_offer)
   VALUES ($1, $2, 'fee', $3, 'pending', $4, $5, 'exact', $6, $7, $8, $9, 'operator', $10, 0, $10, 0, $11, $12, $13)
   ON CONFLICT (relay_request_id) DO NOTHING`,
);

const RETRY_SECONDS = 2;

/**
 * Pays the fees that a seller owes, by a signed authorization. Nothing is delivered, so the money moves first and is
 * booked then. After a crash in between, the job that settles authorizations finishes the payment. An offer is not
 * stored until it is signed.
 */
@Injectable()
export class PayFees {
  constructor(
    private readonly database: Database,
    private readonly unstoredOffers: UnstoredOffers,
    private readonly authorizations: Authorizations,
    private readonly reconcilePayment: ReconcilePayment,
    private readonly settleAuthorization: SettleAuthorization,
    @Inject(PAYMENT_RAILS) private readonly rails: PaymentRail[],
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  @HandleRequest(payFees)
  async execute({ amountMicros, authorization }: InputOf<typeof payFees>, context: RequestContext): Promise<Output> {
    const sellerId = principalOf(context).accountId;
    if (authorization === undefined) return this.ask(sellerId, amountMicros);
    const held = await this.hold(sellerId, authorization);
    if ('rejected' in held) return this.ask(sellerId, amountMicros, held.rejected);
    try {
      if ('toSettle' in held) await this.settleAuthorization.settleFirst(held.toSettle, context);
    } catch (error) {
      if (isRefusal(error, settlePayment, 'settlement_refused'))
        return this.ask(sellerId, amountMicros, error.details.reason as string);
      if (!isRefusal(error, settlePayment, 'settlement_unknown')) throw error;
    }
    return this.explain('toSettle' in held ? await this.find(held.toSettle.payment_id) : held.known);
  }

  private async ask(sellerId: string, amountMicros: string | undefined, reason?: string): Promise<Output> {
    const due = await this.due(this.database, sellerId);
    if (due === 0n) throw refuse(payFees, 'no_fees_due', {});
    const amount = amountMicros === undefined ? due : BigInt(amountMicros);
    if (amount > due) throw refuse(payFees, 'more_than_due', { due: toUsdAmount(due) });
    const expiresAt = this.unstoredOffers.expiresAt();
    const accepts = openExactRoutes(this.rails).flatMap((exactRoute) => {
      const payTo = this.payToOf(exactRoute);
      const terms = { subjectId: sellerId, payee: 'operator' as const, priceMicros: amount, feeBps: 0, expiresAt };
      const made = payTo && this.unstoredOffers.make(exactRoute, { ...terms, payTo });
      return made ? [made.requirements] : [];
    });
    if (accepts.length === 0) throw refuse(payFees, 'fees_not_payable', {});
    return { outcome: 'payment_required', due: toUsdAmount(due), amount: toUsdAmount(amount), accepts, reason };
  }

  private payToOf({ rail, route: { network } }: ExactRoute): string | undefined {
    if (isSolana(network)) return this.config.feeSolanaAddress;
    return (
      this.config.feeAddress ?? this.config.x402PayToAddress ?? (rail instanceof SandboxRail ? PLAY_PAYEE : undefined)
    );
  }

  private async hold(sellerId: string, text: string): Promise<Submitted> {
    const payload = parsePayload(text);
    if (!payload) return { rejected: 'invalid_payload' };
    const offered = this.unstoredOffers.read(payload);
    if (offered?.terms.subjectId !== sellerId) return { rejected: 'accepted_mismatch' };
    const { terms, route, requirements } = offered;
    const signed = await this.authorizations.signedBy({ payload, requirements, exact: route.exact });
    if (!signed.valid) return { rejected: signed.reason };
    const [known] = await this.database.query<PaymentRow>(find, [requirements.extra.relayRequestId]);
    if (known?.state === 'completed' || known?.state === 'indeterminate') return { known };
    if (terms.expiresAt.getTime() <= Date.now()) return { rejected: 'offer_expired' };
    const checked = await this.authorizations.check(
      { payload, requirements, exact: route.exact },
      signed.payer,
      0,
      terms.priceMicros,
    );
    if (!checked.valid) return { rejected: checked.reason };
    return this.database.transaction((tx) => this.store(tx, sellerId, offered, checked, text));
  }

  /** Stores the payment, its authorization and the intent to settle it in one commit. */
  private async store(
    tx: Tx,
    sellerId: string,
    { terms, route: { rail, route }, requirements }: UnstoredOffer,
    { authorization, facilitator }: Checked,
    text: string,
  ): Promise<Submitted> {
    const { relayRequestId } = requirements.extra;
    await tx.query(insert, [
      newId(),
      relayRequestId,
      createHash('sha256').update(`fee|${relayRequestId}`).digest(),
      sellerId,
      rail.id,
      route.network,
      route.currency,
      route.decimals,
      terms.payTo,
      terms.priceMicros,
      terms.amountBaseUnits,
      terms.expiresAt,
      requirements.extra.offer,
    ]);
    const [{ id }] = (await tx.query<PaymentRow>(find, [relayRequestId])) as [PaymentRow];
    const known = await this.reconcilePayment.lock(tx, id);
    if (known.state === 'expired') return { rejected: 'offer_expired' };
    if (known.state !== 'pending') return { known };
    // A settlement locks the payment first and the seller second, so this transaction uses the same order.
    await tx.query(lockSeller, [sellerId]);
    const [others] = await tx.query<{ micros: string }>(unsettled, [sellerId]);
    if (terms.priceMicros > (await this.due(tx, sellerId)) - BigInt(others!.micros))
      return { rejected: 'more_than_due' };
    if (known.is_expired) return { rejected: 'offer_expired' };
    const examined = { requirements, authorization, text, facilitator, callMs: 0, place: known };
    const holding = await this.authorizations.store(tx, { paymentId: id, examined, isUsed: false });
    if ('rejected' in holding) return holding;
    return { toSettle: await this.settleAuthorization.beginFirst(tx, await this.reconcilePayment.lock(tx, id)) };
  }

  private async due(through: Pick<Tx, 'query'>, sellerId: string): Promise<Micros> {
    const [row] = await through.query<{ due: string }>(debt, [`agent:${sellerId}:fees`]);
    return BigInt(row?.due ?? 0);
  }

  private async find(paymentId: string): Promise<PaymentRow> {
    return this.database.transaction((tx) => this.reconcilePayment.lock(tx, paymentId));
  }

  private async explain(payment: PaymentRow): Promise<Output> {
    if (payment.state !== 'completed')
      return { outcome: 'pending', paymentId: payment.id, retryAfterSeconds: RETRY_SECONDS };
    const transfer = await this.settleAuthorization.transferOf(payment);
    invariant(transfer, `payment ${payment.id} is as it was booked`);
    return {
      outcome: 'paid',
      paymentId: payment.id,
      amount: toUsdAmount(BigInt(payment.gross_micros)),
      due: toUsdAmount(await this.due(this.database, payment.buyer_id)),
      completedAt: payment.completed_at!.toISOString(),
      transfer,
    };
  }
}
