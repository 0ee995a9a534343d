import type { InputOf, OutputOf } from '@market/contracts';
import { splitFee } from '@market/kernel';
import { openPayerAccount } from '@market/contracts/identity';
import { openKeylessPayment } from '@market/contracts/payments-ledger';
import { HandleRequest, isRefusal, MessageBus, refuse, type RequestContext } from '@market/messaging';
import {
  Database,
  GroupCommit,
  GroupLookup,
  isForeignKeyViolation,
  isUniqueViolation,
  lookupSql,
  sql,
  withParameters,
} from '@market/persistence';
import { lookupCache } from '@market/runtime';
import { Injectable } from '@nestjs/common';
import { parsePayload, type ExactRequirements } from '../rails/x402/exact-payment.js';
import {
  Authorizations,
  HOLDINGS,
  payerKeyOf,
  storeHoldings,
  toHoldingRow,
  type Rejection,
  type SignedPayment,
  type Checked,
} from './authorizations.js';
import { AuthorizeSignedPayment, isInUse, type Funds, type SignedCall } from './authorize-signed-payment.js';
import { OFFER_COLUMNS, Offers, type NewOffer } from './offers.js';
import { isLive } from './payment-state.js';
import {
  isForCall,
  moneyOf,
  openCallOf,
  paymentColumns,
  paysBySignature,
  toAuthorized,
  toOffer,
  type CallPaymentRow,
  type PaymentRow,
} from './payment.js';
import { UnstoredOffers, type UnstoredOffer } from './unstored-offers.js';

type Input = InputOf<typeof openKeylessPayment>;
type Output = OutputOf<typeof openKeylessPayment>;
type Payer = OutputOf<typeof openPayerAccount>;

const find = sql(
  'payments.find-keyless',
  lookupSql(`SELECT ${paymentColumns('p')} FROM payments p WHERE p.relay_request_id = asked.key`),
);

/**
 * Stores offers with the authorizations that pay them: those that no request has stored, that pay with an authorization
 * that was not used before, and whose call no other payment of the buyer pays. If another process stores one of them
 * meanwhile, `authorizations_payment_id_fkey` or `payments_open_call` is violated.
 */
const open = withParameters({ offers: OFFER_COLUMNS, holdings: HOLDINGS }, ({ offers, holdings }) =>
  sql(
    'payments.open-keyless',
    `${storeHoldings(`(
       SELECT holdings.* FROM ${holdings.table} JOIN ${offers.table} ON offers.id = holdings.payment_id
       WHERE NOT EXISTS (SELECT FROM payments p WHERE p.relay_request_id = offers.relay_request_id)
         AND NOT EXISTS (${openCallOf('offers')})) AS holdings`)}
     INSERT INTO payments (${offers.columns}, state, authorization_id, verified_at, retry_until, in_use_until)
     SELECT offers.*, 'verified', a.id, now(), a.retry_until, a.in_use_until
     FROM ${offers.table} JOIN asked a ON a.payment_id = offers.id JOIN stored ON stored.id = a.id
     ORDER BY offers.relay_request_id
     ON CONFLICT (relay_request_id) DO NOTHING RETURNING ${paymentColumns('payments')}`,
  ),
);

/** An offer to store, with the authorization that pays it. */
interface SignedOffer extends Omit<SignedCall, 'payment'> {
  offer: NewOffer;
}

const callOf = ({ listing, bodyDigest }: Input): { listing_id: string; body_digest: Buffer } => ({
  listing_id: listing.listingId,
  body_digest: Buffer.from(bodyDigest, 'hex'),
});
const rejected = (reason: string): Output => ({ outcome: 'rejected', reason });

/**
 * Turns a signed keyless offer into a verified payment with a held authorization, and authorizes its call
 * unless `authorizePayment` has to decide; all in one commit. Nothing is stored for a signature that does not pay.
 * The buyer is the account of the wallet that signed. While an earlier signature of that buyer pays the same call and is
 * not settled, delivered or answered, another one is not taken: the request is that call again.
 */
@Injectable()
export class OpenKeylessPayment {
  /** Accounts by wallet address. A wallet never changes its account, but it may be disabled. */
  private readonly accounts = lookupCache<Payer, RequestContext>(10_000, (walletAddress, context) =>
    this.openAccount(walletAddress, context),
  );
  private readonly payments: GroupLookup<PaymentRow>;
  private readonly openings = new GroupCommit<SignedOffer, CallPaymentRow | null>((items) => this.store(items), {
    keyOf: ({ offer }) => `${offer.buyer_id} ${offer.listing_id} ${offer.body_digest!.toString('hex')}`,
  });

  constructor(
    private readonly database: Database,
    private readonly bus: MessageBus,
    private readonly offers: Offers,
    private readonly authorizations: Authorizations,
    private readonly signedPayments: AuthorizeSignedPayment,
    private readonly unstoredOffers: UnstoredOffers,
  ) {
    this.payments = new GroupLookup(database, find);
  }

  /**
   * A new payment costs two statements, a request to the facilitator, and one transaction of five statements, which also
   * authorizes its call. For a wallet that did not pay recently, it also costs a bus request.
   */
  @HandleRequest(openKeylessPayment)
  async execute(input: Input, context: RequestContext): Promise<Output> {
    const payload = parsePayload(input.authorization);
    if (!payload) return rejected('invalid_payload');
    const offered = this.unstoredOffers.read(payload);
    if (!offered) return rejected('accepted_mismatch');
    if (offered.terms.subjectId !== input.listing.listingId) throw refuse(openKeylessPayment, 'listing_mismatch', {});
    const terms = { exact: offered.route.exact, requirements: offered.requirements };
    const signed = await this.authorizations.signedBy({ payload, ...terms });
    if (!signed.valid) return rejected(signed.reason);
    const known = await this.find(offered.requirements);
    if (!known && !input.mayOpen) return { outcome: 'not_opened' };
    const payer = payerKeyOf(terms.requirements, signed.payer);
    const [checked, funds] = known
      ? [null, null]
      : await Promise.all([
          this.check(offered, { payload, ...terms }, signed.payer, input.callMs),
          this.signedPayments.fundsOf(payer, terms),
        ]);
    if (checked ? !checked.valid : !isLive(known!.state) && known!.state !== 'completed') {
      // The wallet of a call that is paid and not answered may hold too little for a second signature.
      const open = await this.authorizations.findOpenCallOf(payer, callOf(input));
      if (open) return opened(open, offered.requirements, input.callMs);
    }
    if (checked && !checked.valid) return rejected(checked.reason);
    const { accountId: buyerId, mayPay } = await this.accounts.forceFetch(signed.payer, { context });
    // A disabled wallet may still request the result of an earlier payment.
    if (!known && !mayPay) throw refuse(openKeylessPayment, 'wallet_cannot_pay', {});
    if (buyerId === input.listing.sellerId) throw refuse(openKeylessPayment, 'own_listing', {});
    const result = known ? { payment: known } : await this.open(buyerId, offered, checked!, funds!, input, context);
    if ('rejected' in result) {
      // The wallet may pay the same call under another account already.
      const signature = { ...terms, authorization: checked!.authorization };
      const underOther = await this.authorizations.findCallUnderWay(payer, signature, callOf(input));
      return underOther ? opened(underOther, offered.requirements, input.callMs) : rejected(result.rejected);
    }
    const { payment } = result;
    // An offer that another wallet has paid cannot be used again.
    if (payment.buyer_id !== buyerId) return rejected('accepted_mismatch');
    return opened(payment, offered.requirements, input.callMs);
  }

  private async find({ extra }: ExactRequirements): Promise<CallPaymentRow | undefined> {
    const [payment] = await this.payments.find(extra.relayRequestId);
    return payment && isForCall(payment) ? payment : undefined;
  }

  private check(
    { terms }: UnstoredOffer,
    signed: SignedPayment,
    payer: string,
    callMs: number,
  ): ReturnType<Authorizations['check']> | { valid: false; reason: string } {
    return terms.expiresAt.getTime() <= Date.now()
      ? { valid: false, reason: 'offer_expired' }
      : this.authorizations.check(signed, payer, callMs, splitFee(terms.priceMicros, terms.feeBps).fee);
  }

  private async openAccount(walletAddress: string, context: RequestContext): Promise<Payer> {
    try {
      return await this.bus.request(openPayerAccount, { walletAddress }, context);
    } catch (error) {
      if (isRefusal(error, openPayerAccount, 'wallet_is_a_humans'))
        throw refuse(openKeylessPayment, 'wallet_is_a_humans', {});
      throw error;
    }
  }

  /** If the same offer is submitted twice concurrently, the second request finds the payment of the first. */
  private async open(
    buyerId: string,
    { terms, route: { rail, route }, requirements }: UnstoredOffer,
    { authorization, facilitator }: Checked,
    funds: Funds,
    input: Input,
    context: RequestContext,
  ): Promise<{ payment: CallPaymentRow } | Rejection> {
    const { listing, gatewayRequestId, bodyDigest, authorization: text, callMs } = input;
    const { relayRequestId } = requirements.extra;
    const { payTo, payee, amountBaseUnits, priceMicros, feeBps, expiresAt, jobSeconds, usage } = terms;
    if (expiresAt.getTime() <= Date.now()) return { rejected: 'offer_expired' };
    const purchasable = {
      purpose: 'call',
      gateway_request_id: gatewayRequestId,
      body_digest: Buffer.from(bodyDigest, 'hex'),
      pricing_model: null,
      included_calls: null,
      included_units: null,
    } as const;
    const offer = this.offers.keylessRow(
      { buyerId, listing, priceMicros, usage, purchasable, jobSeconds },
      { rail, route },
      { relayRequestId, payTo, payee, amountBaseUnits, feeBps, expiresAt },
      requirements.extra.offer,
    );
    const examined = { requirements, authorization, text, facilitator, callMs, place: offer };
    const stored = await this.openings.submit({ offer, examined, funds, context });
    const payment = stored ?? (await this.find(requirements)) ?? (await this.authorizations.findOpenCall(offer));
    return payment
      ? { payment }
      : { rejected: await this.authorizations.reasonAgainst({ paymentId: offer.id, examined }) };
  }

  /**
   * Stores the offers of calls that arrive together, in one transaction.
   * @returns null for an offer that was stored before, or whose authorization was used before.
   */
  private async store(items: SignedOffer[]): Promise<(CallPaymentRow | null)[]> {
    try {
      const { rows } = await this.database.transaction(async (tx) => {
        const payers = await this.signedPayments.lockPayers(
          tx,
          items.map(({ funds }) => funds.payer),
        );
        const holdings = items.map((item) => {
          const { id, amount_base_units } = item.offer;
          const payment = { id, amount_base_units, budgets: null };
          const isUsed = this.signedPayments.mayBeUsed({ ...item, payment }, payers);
          return toHoldingRow({ paymentId: id, examined: item.examined, isUsed });
        });
        return tx.send<CallPaymentRow>(open, open.values({ offers: items.map(({ offer }) => offer), holdings }));
      });
      const stored = new Map((await rows).map((row) => [row.id, row]));
      return items.map(({ offer }) => stored.get(offer.id) ?? null);
    } catch (error) {
      // In a group, each offer is then stored alone.
      const isTaken =
        isForeignKeyViolation(error, 'authorizations_payment_id_fkey') ||
        isUniqueViolation(error, 'payments_open_call');
      if (items.length === 1 && isTaken) return [null];
      throw error;
    }
  }
}

const opened = (payment: CallPaymentRow, requirements: ExactRequirements, callMs: number): Output => {
  const isJoined = payment.relay_request_id !== requirements.extra.relayRequestId;
  return {
    outcome: 'opened',
    buyerId: payment.buyer_id,
    gatewayRequestId: payment.gateway_request_id,
    offer: toOffer(payment, [requirements]),
    money: moneyOf(payment),
    authorized: !isJoined && isUsable(payment, callMs) ? toAuthorized(payment) : null,
    isJoined,
  };
};

const isUsable = (payment: CallPaymentRow, callMs: number): boolean =>
  payment.state === 'verified' && paysBySignature(payment) && isInUse(payment, new Date(), callMs);
