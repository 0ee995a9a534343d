import type { InputOf, OutputOf } from '@market/contracts';
import { openPayerAccount } from '@market/contracts/identity';
import { openKeylessPayment } from '@market/contracts/payments-ledger';
import { isRefusal, MessageBus, refuse, type RequestContext } from '@market/messaging';
import {
  Database,
  GroupCommit,
  GroupLookup,
  isForeignKeyViolation,
  lookupSql,
  sql,
  withParameters,
} from '@market/persistence';
import { lookupCache } from '@market/runtime';
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
import {
  Authorizations,
  HOLDINGS,
  payerKeyOf,
  storeHoldings,
  toHoldingRow,
  type Rejection,
  type SignedPayment,
} from './authorizations.js';
import { ClaimSignedPayment, type Funds, type SignedCall } from './claim-signed-payment.js';
import { KeylessTermsSeal, type KeylessTerms } from './keyless-terms.js';
import { OFFER_COLUMNS, Offers, type NewOffer } from './offers.js';
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

/**
 * Stores offers with the authorizations that pay them: those that no request has stored and that pay with an
 * authorization that was not used before. If another process stores an offer with another authorization meanwhile,
 * `authorizations_payment_id_fkey` is violated.
 */
const open = withParameters({ offers: OFFER_COLUMNS, holdings: HOLDINGS }, ({ offers, holdings }) =>
  sql(
    'payments.open-keyless',
    `${storeHoldings(`(
       SELECT holdings.* FROM ${holdings.table} JOIN ${offers.table} ON offers.id = holdings.payment_id
       WHERE NOT EXISTS (SELECT FROM payments p WHERE p.relay_request_id = offers.relay_request_id)) AS holdings`)}
     INSERT INTO payments (${offers.columns}, state, authorization_id, verified_at, retry_until, fence, holder_id,
       claimed_at, lease_until)
     SELECT offers.*, a.state, a.id, now(), a.retry_until, a.claims, a.holder_id, a.claimed_at, a.lease_until
     FROM ${offers.table} JOIN asked a ON a.payment_id = offers.id JOIN stored ON stored.id = a.id
     ORDER BY offers.relay_request_id
     ON CONFLICT (relay_request_id) DO NOTHING RETURNING ${paymentColumns('payments')}`,
  ),
);

/** An offer to store, with the authorization that pays it. */
interface Opening extends Omit<SignedCall, 'payment'> {
  offer: NewOffer;
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
  private readonly openings = new GroupCommit<Opening, CallPaymentRow | null>((items) => this.store(items), {
    keyOf: ({ offer }) => offer.relay_request_id,
  });

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
    const result = known
      ? { payment: known, claim: isRepeated(input, known) ? known : null }
      : await this.open(buyerId, offered, checked!.authorization, funds!, input, context);
    if ('rejected' in result) return rejected(result.rejected);
    const { payment, claim } = result;
    // An offer that another wallet has paid cannot be used again.
    return payment.buyer_id === buyerId ? opened(payment, claim, offered.requirements) : rejected('accepted_mismatch');
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
  ): Promise<Opened | Rejection> {
    const { listing, gatewayRequestId, bodyDigest, authorization: text, leaseMs } = input;
    const { relayRequestId } = requirements.extra;
    const { payTo, payee, amountBaseUnits, priceMicros, feeBps, expiresAt } = terms;
    if (expiresAt.getTime() <= Date.now()) return { rejected: 'offer_expired' };
    const purchasable = {
      purpose: 'call',
      gateway_request_id: gatewayRequestId,
      body_digest: Buffer.from(bodyDigest, 'hex'),
      pricing_model: null,
    } as const;
    const offer = this.offers.keylessRow(
      { buyerId, listing, priceMicros, purchasable },
      { rail, route },
      { relayRequestId, payTo, payee, amountBaseUnits, feeBps, expiresAt },
      sealed,
    );
    const examined = { requirements, authorization, text, leaseMs };
    const stored = await this.openings.submit({ offer, examined, funds, holderId: input.holderId, context });
    if (stored) return { payment: stored, claim: stored.state === 'in_flight' ? stored : null };
    const payment = await this.find(requirements);
    return payment
      ? { payment, claim: null }
      : { rejected: await this.authorizations.reasonAgainst({ paymentId: offer.id, examined }) };
  }

  /**
   * Stores the offers of calls that arrive together, in one transaction.
   * @returns null for an offer that was stored before, or whose authorization was used before.
   */
  private async store(items: Opening[]): Promise<(CallPaymentRow | null)[]> {
    try {
      const { rows } = await this.database.transaction(async (tx) => {
        const payers = await this.claimSigned.lockPayers(
          tx,
          items.map(({ funds }) => funds.payer),
        );
        const holdings = items.map((item) => {
          const { id, amount_base_units } = item.offer;
          const payment = { id, amount_base_units, budgets: null };
          const holderId = this.claimSigned.holderOf({ ...item, payment }, payers);
          return toHoldingRow({ paymentId: id, examined: item.examined, holderId });
        });
        return tx.send<CallPaymentRow>(open, open.values({ offers: items.map(({ offer }) => offer), holdings }));
      });
      const stored = new Map((await rows).map((row) => [row.id, row]));
      return items.map(({ offer }) => stored.get(offer.id) ?? null);
    } catch (error) {
      // In a group, each offer is then stored alone.
      if (items.length === 1 && isForeignKeyViolation(error, 'authorizations_payment_id_fkey')) return [null];
      throw error;
    }
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
