import type { InputOf, OutputOf } from '@market/contracts';
import { openPayerAccount } from '@market/contracts/identity';
import { openKeylessPayment } from '@market/contracts/payments-ledger';
import { isRefusal, MessageBus, refuse, type RequestContext } from '@market/messaging';
import { Database, GroupCommit, GroupLookup, lookupSql, sql } from '@market/persistence';
import { lookupCache } from '@market/runtime';
import { invariant } from '@market/kernel';
import { Inject, Injectable } from '@nestjs/common';
import { exactRoutes, type ExactRoute } from '../rails/exact-routes.js';
import { PAYMENT_RAILS, type PaymentRail } from '../rails/payment-rail.js';
import {
  parsePayload,
  type Authorization,
  type ExactPayload,
  type ExactRequirements,
} from '../rails/x402/exact-payment.js';
import { signedBy } from '../rails/x402/exact-signature.js';
import { Authorizations, payerKeyOf, type SignedPayment } from './authorizations.js';
import { ClaimSignedPayment, type Funds, type SignedCall } from './claim-signed-payment.js';
import { KeylessTermsSeal, type KeylessTerms } from './keyless-terms.js';
import { Offers, type NewOffer } from './offers.js';
import {
  isForCall,
  moneyOf,
  paymentColumns,
  toClaim,
  toOffer,
  type CallPaymentRow,
  type PaymentRow,
} from './payment.js';

type Input = InputOf<typeof openKeylessPayment>;
type Output = OutputOf<typeof openKeylessPayment>;
type Payer = OutputOf<typeof openPayerAccount>;

interface Opened {
  payment: CallPaymentRow;
  claim: CallPaymentRow | null;
}

/** A keyless offer as the client returned it. */
interface Offered {
  terms: KeylessTerms;
  sealed: string;
  route: ExactRoute;
  requirements: ExactRequirements;
}

const find = sql(
  'payments.find-keyless',
  lookupSql(`SELECT ${paymentColumns('p')} FROM payments p WHERE p.relay_request_id = asked.key`),
);

/** An offer to store, with the authorization that pays it. */
interface Opening extends Omit<SignedCall, 'payment'> {
  offer: NewOffer;
}

/** Rolls back the transaction if the authorization could not be held. */
class NotHeld extends Error {
  constructor(readonly reason: string) {
    super(reason);
  }
}

const rejected = (reason: string): Output => ({ outcome: 'rejected', reason });

/**
 * Turns a signed keyless offer into a verified payment with a held authorization, and claims it for the requesting
 * process unless `claimPayment` has to decide; all in one commit. Nothing is stored for a signature that does not pay.
 * The buyer is the account of the wallet that signed.
 */
@Injectable()
export class OpenKeylessPayment {
  /** Accounts by wallet address. A wallet never changes its account, but it may be disabled. */
  private readonly accounts = lookupCache<Payer, RequestContext>(10_000, (walletAddress, context) =>
    this.openAccount(walletAddress, context),
  );
  private readonly payments: GroupLookup<PaymentRow>;
  private readonly openings = new GroupCommit<Opening, Opened | null>((items) => this.store(items));

  constructor(
    private readonly database: Database,
    private readonly bus: MessageBus,
    private readonly offers: Offers,
    private readonly authorizations: Authorizations,
    private readonly claimSigned: ClaimSignedPayment,
    private readonly seal: KeylessTermsSeal,
    @Inject(PAYMENT_RAILS) private readonly rails: PaymentRail[],
  ) {
    this.payments = new GroupLookup(database, find);
  }

  async execute(input: Input, context: RequestContext): Promise<Output> {
    const payload = parsePayload(input.authorization);
    if (!payload) return rejected('invalid_payload');
    const offered = this.read(payload);
    if (!offered) return rejected('accepted_mismatch');
    if (offered.terms.subjectId !== input.listing.listingId) throw refuse(openKeylessPayment, 'listing_mismatch', {});
    const signed = await signedBy(payload, offered.requirements);
    if (!signed.valid) return rejected(signed.reason);
    const known = await this.find(offered.requirements);
    if (!known && !input.mayOpen) return { outcome: 'not_opened' };
    const terms = { exact: offered.route.exact, requirements: offered.requirements };
    const [checked, funds] = known
      ? [null, null]
      : await Promise.all([
          this.check(offered, { payload, ...terms }, signed.payer, input.leaseMs),
          this.claimSigned.fundsOf(payerKeyOf(terms.requirements, signed.payer), terms),
        ]);
    if (checked && !checked.valid) return rejected(checked.reason);
    const { accountId: buyerId, mayPay } = await this.accounts.forceFetch(signed.payer, { context });
    // A disabled wallet may still request the result of an earlier payment.
    if (!known && !mayPay) throw refuse(openKeylessPayment, 'wallet_cannot_pay', {});
    if (buyerId === input.listing.sellerId) throw refuse(openKeylessPayment, 'own_listing', {});
    try {
      const { payment, claim } = known
        ? { payment: known, claim: isRepeated(input, known) ? known : null }
        : await this.open(buyerId, offered, checked!.authorization, funds!, input, context);
      // An offer that another wallet has paid cannot be used again.
      return payment.buyer_id === buyerId
        ? opened(payment, claim, offered.requirements)
        : rejected('accepted_mismatch');
    } catch (error) {
      if (error instanceof NotHeld) return rejected(error.reason);
      throw error;
    }
  }

  private read({ accepted: { extra } }: ExactPayload): Offered | undefined {
    const { relayRequestId, offer, feePayer } = extra;
    const terms = this.seal.read({ relayRequestId, offer });
    const route = exactRoutes(this.rails).find(({ route }) => route.network === terms?.network);
    if (!terms || !route || offer === undefined) return undefined;
    const { amountBaseUnits, payTo } = terms;
    const asked = route.exact.requirements({ relayRequestId, route: route.route, amountBaseUnits, payTo }, feePayer);
    return asked
      ? { terms, sealed: offer, route, requirements: { ...asked, extra: { ...asked.extra, offer } } }
      : undefined;
  }

  private async find({ extra }: ExactRequirements): Promise<CallPaymentRow | undefined> {
    const [payment] = await this.payments.find(extra.relayRequestId);
    return payment && isForCall(payment) ? payment : undefined;
  }

  private check(
    { terms }: Offered,
    signed: SignedPayment,
    payer: string,
    leaseMs: number,
  ): ReturnType<Authorizations['check']> | { valid: false; reason: string } {
    return terms.expiresAt.getTime() <= Date.now()
      ? { valid: false, reason: 'offer_expired' }
      : this.authorizations.check(signed, payer, leaseMs);
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
    { terms, sealed, route: { rail, route }, requirements }: Offered,
    authorization: Authorization,
    funds: Funds,
    input: Input,
    context: RequestContext,
  ): Promise<Opened> {
    const { listing, gatewayRequestId, bodyDigest, authorization: text, leaseMs } = input;
    const { relayRequestId } = requirements.extra;
    const { payTo, payee, amountBaseUnits, priceMicros, feeBps, expiresAt } = terms;
    if (expiresAt.getTime() <= Date.now()) throw new NotHeld('offer_expired');
    const purchasable = {
      purpose: 'call',
      gateway_request_id: gatewayRequestId,
      body_digest: Buffer.from(bodyDigest, 'hex'),
      pricing_model: null,
    } as const;
    const inserted = await this.openings.submit({
      offer: this.offers.keylessRow(
        { buyerId, listing, priceMicros, purchasable },
        { rail, route },
        { relayRequestId, payTo, payee, amountBaseUnits, feeBps, expiresAt },
        sealed,
      ),
      examined: { requirements, authorization, text, leaseMs },
      funds,
      holderId: input.holderId,
      context,
    });
    if (inserted) return inserted;
    const payment = await this.find(requirements);
    invariant(payment, 'an offer that another process stored is there');
    return { payment, claim: null };
  }

  /**
   * Stores the offers of calls that arrive together, in one transaction.
   * @returns null for an offer that another request has stored already.
   */
  private store(items: Opening[]): Promise<(Opened | null)[]> {
    return this.database.transaction(async (tx) => {
      const inserted = await this.offers.insertKeyless(
        tx,
        items.map(({ offer }) => offer),
      );
      const stored = items.filter(({ offer }) => inserted.has(offer.id));
      const holdings = await this.claimSigned.holdAll(
        tx,
        stored.map(({ offer, ...call }) => ({
          ...call,
          payment: { id: offer.id, amount_base_units: offer.amount_base_units, budgets: null },
        })),
      );
      const opened = new Map(
        stored.map((item, index): [Opening, Opened] => {
          const holding = holdings[index]!;
          if ('rejected' in holding) throw new NotHeld(holding.rejected);
          const { held: payment } = holding;
          invariant(payment && isForCall(payment), 'an offer that was just written is pending');
          return [item, { payment, claim: payment.state === 'in_flight' ? payment : null }];
        }),
      );
      return items.map((item) => opened.get(item) ?? null);
    });
  }
}

/** Whether this very request opened the payment, and its answer was lost: nobody else has its claim. */
const isRepeated = ({ gatewayRequestId, holderId }: Input, known: CallPaymentRow): boolean =>
  known.state === 'in_flight' &&
  known.fence === 1 &&
  known.gateway_request_id === gatewayRequestId &&
  known.holder_id === holderId;

const opened = (payment: CallPaymentRow, claim: CallPaymentRow | null, requirements: ExactRequirements): Output => ({
  outcome: 'opened',
  buyerId: payment.buyer_id,
  gatewayRequestId: payment.gateway_request_id,
  offer: toOffer(payment, requirements),
  money: moneyOf(payment),
  claim: claim && toClaim(claim),
});
