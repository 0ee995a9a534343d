import { invariant, newId, UnavailableError } from '@market/kernel';
import type { RequestContext } from '@market/messaging';
import { Database, sql, withParameters, type Tx } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { openExactRoutes } from '../rails/exact-routes.js';
import { PAYMENT_RAILS, type PaymentRail } from '../rails/payment-rail.js';
import {
  isSolana,
  parsePayload,
  type Authorization,
  type ExactPayload,
  type ExactRequirements,
} from '../rails/x402/exact-payment.js';
import type { AskContract } from '../rails/x402/exact-evm.js';
import { checkTerms, signedBy } from '../rails/x402/exact-signature.js';
import { readTransaction } from '../rails/x402/exact-solana.js';
import type { HeldAuthorization } from '../rails/x402/facilitator.js';
import type { Verified } from '../rails/x402/facilitators.js';
import { isTooCostlyOnSolana, TOO_COSTLY } from '../rails/x402/settlement-cost.js';
import { messageOf } from './message-of.js';
import { ReconcilePayment, type LockedPayment } from './reconcile-payment.js';
import {
  feeOf,
  isOpenCall,
  openCallOf,
  paymentColumns,
  watchedOffer,
  type CallPaymentRow,
  type PaymentRow,
} from './payment.js';

/** The columns of the authorizations that a statement holds, as `toHoldingRow` returns them. */
export const HOLDINGS = `id uuid, payment_id uuid, network text, asset text, payer text, nonce text, valid_before bigint,
  payload text, facilitator text, call_ms int, is_used boolean, rail text, pay_to text, payee text, listing_id uuid,
  body_digest bytea`;
/**
 * The beginning of a statement that holds authorizations: `asked` has the new values of their payments, and `stored`
 * the authorizations that no payment had used and whose wallet has no other in progress for the same call. The call may
 * be retried for as long as the authorization can still be settled afterwards. One that is used counts from now on and
 * not from the begin of the transaction, which may have waited for locks.
 */
export const storeHoldings = (holdings: string): string =>
  `WITH asked AS (
     SELECT *, to_timestamp(valid_before) AS valid_until,
       to_timestamp(valid_before) - call_ms * interval '1 millisecond' AS retry_until,
       CASE WHEN is_used THEN clock_timestamp() + call_ms * interval '1 millisecond' END AS in_use_until
     FROM ${holdings}
   ), stored AS (
     INSERT INTO authorizations (id, payment_id, state, network, asset, payer, nonce, listing_id, body_digest, valid_before,
       payload, facilitator)
     SELECT id, payment_id, 'held', network, asset, payer, nonce, listing_id, body_digest, valid_until, payload, facilitator
     FROM asked ORDER BY network, asset, payer, nonce
     ON CONFLICT DO NOTHING RETURNING id
   )`;
/**
 * No authorization is held for a call that another payment of its buyer pays. The payment goes to the chain that was
 * signed for.
 */
const hold = withParameters({ holdings: HOLDINGS }, ({ holdings }) =>
  sql(
    'authorizations.hold',
    `${storeHoldings(`(
       SELECT holdings.* FROM ${holdings.table} JOIN payments p ON p.id = holdings.payment_id
       WHERE NOT EXISTS (${openCallOf('p')})) AS holdings`)}
     UPDATE payments p SET state = 'verified', authorization_id = a.id, verified_at = now(), retry_until = a.retry_until,
       in_use_until = a.in_use_until, rail = a.rail, network = a.network, pay_to = a.pay_to, payee = a.payee
     FROM asked a JOIN stored USING (id)
     WHERE p.id = ANY(${holdings.arrays.payment_id}) AND p.id = a.payment_id RETURNING ${paymentColumns('p')}`,
  ),
);
const findOpen = sql(
  'payments.open-call',
  `SELECT ${paymentColumns('o')} FROM payments o
   WHERE o.buyer_id = $1 AND o.listing_id = $2 AND o.body_digest = $3 AND ${isOpenCall('o')}`,
);
const findOpenOfPayer = sql(
  'payments.open-call-of-payer',
  `SELECT ${paymentColumns('o')} FROM authorizations a JOIN payments o ON o.authorization_id = a.id
   WHERE a.network = $1 AND a.asset = $2 AND a.payer = $3 AND o.id = a.payment_id
     AND o.listing_id = $4 AND o.body_digest = $5 AND ${isOpenCall('o')} LIMIT 1`,
);
const find = sql(
  'authorizations.find-by-nonce',
  `SELECT a.id, a.payment_id, a.state FROM authorizations a WHERE a.network = $1 AND a.asset = $2 AND a.payer = $3 AND a.nonce = $4`,
);
const lapse = sql(
  'authorizations.lapse',
  `WITH payment AS (UPDATE payments SET state = 'cancelled' WHERE id = $1 AND state = 'verified' RETURNING authorization_id)
   UPDATE authorizations a SET state = 'lapsed' FROM payment p WHERE a.id = p.authorization_id`,
);

/** The end of the year 9999, which is stored for authorizations that are valid for longer. */
const MAX_TIMESTAMP = 253_402_300_799n;

export interface SignedPayment {
  payload: ExactPayload;
  requirements: ExactRequirements;
  exact: NonNullable<PaymentRail['exact']>;
}

/** The requirements for paying an offer, and the part of the rail that settles it. */
export type ExactTerms = Pick<SignedPayment, 'exact' | 'requirements'>;
/** A wallet as payer of one asset, as the tables store it. */
export interface PayerKey {
  network: string;
  asset: string;
  payer: string;
}

/** A signed authorization that could be settled when it was checked. */
export interface Examined extends ExactTerms {
  authorization: Authorization;
  /** The payload that was signed, as text. */
  text: string;
  /** The facilitator that verified it, which is the first to settle it. */
  facilitator: string;
  /** How long the call may take before the settlement, in milliseconds. */
  callMs: number;
  place: Place;
}
/** Where and to whom a payment goes, and for which call; the last two are null for what is no call. */
type Place = Pick<PaymentRow, 'rail' | 'network' | 'pay_to' | 'payee' | 'listing_id' | 'body_digest'>;
/** What is known of a signature that can be settled. */
export type Checked = Pick<Examined, 'authorization' | 'facilitator'>;
/**
 * `held` is null if another authorization or a transfer has paid the payment meanwhile, or a transfer is on its way.
 */
export interface Held {
  held: PaymentRow | null;
}
/** The protocol's reason why an authorization does not pay an offer. */
export interface Rejection {
  rejected: string;
}
/** An authorization to hold for a pending payment that is locked or was written in this transaction. */
export interface Holding {
  paymentId: string;
  examined: Omit<Examined, 'exact'>;
  /** Whether its call uses it at once. */
  isUsed: boolean;
}

/**
 * Payments by a signed authorization (x402 `exact`). An authorization is held while the seller is called, settled when
 * the answer is stored, and lapses when it can no longer be settled.
 */
@Injectable()
export class Authorizations {
  constructor(
    private readonly database: Database,
    private readonly reconcilePayment: ReconcilePayment,
    @Inject(PAYMENT_RAILS) private readonly rails: PaymentRail[],
    @Inject(paymentsLedgerConfig.token)
    private readonly config: Pick<PaymentsLedgerConfig, 'x402RpcTimeoutMs' | 'x402CoinPrices'>,
  ) {}

  /**
   * What an x402 client may sign to pay this offer, one for each chain; of a call that costs what it uses, before it one
   * by which that is settled. An offer that only a signature pays can be paid
   * on every chain; one that a transfer could pay too, or whose offer token names its chain, stays on its own.
   */
  async acceptsOf(payment: PaymentRow, context: RequestContext): Promise<ExactRequirements[]> {
    const places = [payment, ...(await this.otherPlacesOf(payment, context))];
    return places
      .flatMap((place) => [place.usage && this.requirementsOf(place, 'upto'), this.requirementsOf(place)])
      .filter((asked) => asked !== null);
  }

  /** The payment as it is on the other chains on which its seller can be paid. */
  private async otherPlacesOf(payment: PaymentRow, context: RequestContext): Promise<PaymentRow[]> {
    if (payment.scheme !== 'exact' || payment.keyless_offer !== null || payment.seller_id === null) return [];
    const sellers = [payment.seller_id];
    const others = openExactRoutes(this.rails).filter(({ route }) => route.network !== payment.network);
    const places = await Promise.all(
      others.map(async ({ rail, exact, route: { network } }) => {
        const [payee] = await exact.payeesOf(sellers, context);
        return payee ? [{ ...payment, rail: rail.id, network, pay_to: payee.payTo, payee: payee.payee }] : [];
      }),
    );
    return places.flat();
  }

  /**
   * What an x402 client signs to pay this offer; null if its route takes no signed authorization.
   * @param by a scheme, or the signed payload. That names the account that settles it, which may have changed since; the
   * facilitator checks it.
   */
  requirementsOf(payment: PaymentRow, by: ExactPayload | 'upto' | 'exact' = 'exact'): ExactRequirements | null {
    const exact = this.railOf(payment)?.exact;
    const { scheme, extra } = typeof by === 'string' ? { scheme: by, extra: undefined } : by.accepted;
    const asked =
      (scheme === 'upto' && payment.usage
        ? exact?.upto(watchedOffer(payment), extra?.facilitatorAddress)
        : exact?.requirements(watchedOffer(payment), extra?.feePayer)) ?? null;
    return asked && payment.keyless_offer !== null
      ? { ...asked, extra: { ...asked.extra, offer: payment.keyless_offer } }
      : asked;
  }

  /** The terms on which the rail of this payment takes signed authorizations; null if its route takes none. */
  termsOf(payment: PaymentRow, payload?: ExactPayload): ExactTerms | null {
    const exact = this.railOf(payment)?.exact;
    const requirements = this.requirementsOf(payment, payload);
    return exact && requirements ? { exact, requirements } : null;
  }

  /** Parses the authorization that is held for a payment. */
  read(payment: PaymentRow, text: string): SignedPayment {
    const payload = parsePayload(text);
    const terms = this.termsOf(payment, payload);
    if (!terms) throw new Error(`payments of ${payment.rail} take no authorization any more`);
    invariant(payload, `the authorization of payment ${payment.id} was read before it was held`);
    return { payload, ...terms };
  }

  /**
   * Checks a signed authorization for a pending payment by its signature, its terms and the facilitator's `verify`,
   * which is called outside of any transaction. No money moves.
   * @returns the protocol's reason why it does not pay this offer, or what can be held for it.
   */
  async examine(
    payment: PaymentRow,
    text: string,
    callMs: number,
    context: RequestContext,
  ): Promise<Examined | Rejection> {
    const payload = parsePayload(text);
    const place = await this.placeOf(payment, payload, context);
    const terms = this.termsOf(place, payload);
    if (!terms) return { rejected: 'unsupported_scheme' };
    if (!payload) return { rejected: 'invalid_payload' };
    const signed = await this.signedBy({ payload, ...terms });
    const checked = signed.valid
      ? await this.check({ payload, ...terms }, signed.payer, callMs, feeOf(payment))
      : signed;
    return checked.valid
      ? { ...terms, authorization: checked.authorization, text, facilitator: checked.facilitator, callMs, place }
      : { rejected: checked.reason };
  }

  /** The payment on the chain that was signed for, if it may be paid there. */
  private async placeOf(
    payment: PaymentRow,
    payload: ExactPayload | undefined,
    context: RequestContext,
  ): Promise<PaymentRow> {
    if (payload === undefined || payload.accepted.network === payment.network) return payment;
    const others = await this.otherPlacesOf(payment, context);
    return others.find(({ network }) => network === payload.accepted.network) ?? payment;
  }

  /** Holds an authorization for a pending payment, which is then verified. */
  async hold(tx: Tx, paymentId: string, examined: Examined): Promise<Held | Rejection> {
    const payment = await this.reconcilePayment.lock(tx, paymentId);
    return (await this.unpayable(tx, payment)) ?? this.store(tx, { paymentId, examined, isUsed: false });
  }

  /** Returns, by id, why no authorization pays those of some locked payments that none can pay. */
  async unpayableOf(tx: Tx, payments: LockedPayment[]): Promise<Map<string, Held | Rejection>> {
    const results = await Promise.all(payments.map((payment) => this.unpayable(tx, payment)));
    return new Map(results.flatMap((result, index) => (result ? [[payments[index]!.id, result]] : [])));
  }

  private async unpayable(tx: Tx, payment: LockedPayment): Promise<Held | Rejection | undefined> {
    if (payment.state !== 'pending') return { held: null };
    // The transfer pays the offer when it is final; the authorization would pay it a second time.
    const rail = this.railOf(payment);
    if (rail?.local && (await rail.observe(watchedOffer(payment), tx)).arriving) return { held: null };
    return payment.is_expired ? { rejected: 'offer_expired' } : undefined;
  }

  /**
   * Who signed these terms. Only a wallet with code is asked on its chain.
   * @throws UnavailableError if the chain of such a wallet gives no answer in time.
   */
  signedBy({ payload, requirements, exact: { witness } }: SignedPayment): ReturnType<typeof signedBy> {
    const canAsk = witness.isSignedBy !== undefined && witness.isWatched?.(requirements) === true;
    const askContract: AskContract = (address, hash, signature) =>
      this.inTime(witness.isSignedBy!(address, hash, signature, requirements)).catch(() => {
        throw new UnavailableError(`the RPC server of ${requirements.network}`);
      });
    return signedBy(payload, requirements, canAsk ? askContract : undefined);
  }

  /**
   * Checks whether the authorization could be settled now and after `callMs`, by its terms and by the facilitator's
   * `verify`. No money moves.
   * @param feeMicros the fee of the sale, which bounds what the settlement may cost.
   */
  async check(
    { payload, requirements, exact }: SignedPayment,
    payer: string,
    callMs: number,
    feeMicros: bigint,
  ): Promise<({ valid: true } & Checked) | { valid: false; reason: string }> {
    const now = BigInt(Math.floor(Date.now() / 1_000));
    const checked = checkTerms(payload, payer, requirements, now, BigInt(Math.ceil(callMs / 1000)));
    if (!checked.valid) return checked;
    if (this.isTooCostly(payload, requirements, feeMicros)) return { valid: false, reason: TOO_COSTLY };
    const verified = await this.verify({ payload, requirements, exact }, feeMicros);
    if (verified.valid) return { ...checked, facilitator: verified.facilitator };
    const held = { ...checked.authorization, heldAt: new Date(), text: payload.text };
    const isForeign = await this.isForeign(held, requirements, exact);
    return { valid: false, reason: isForeign ? 'authorization_used_elsewhere' : verified.reason };
  }

  /**
   * Whether an authorization was used although no payment holds it. It may have paid a call that a restore from a
   * backup has undone.
   */
  private async isForeign(
    authorization: HeldAuthorization,
    requirements: ExactRequirements,
    exact: SignedPayment['exact'],
  ): Promise<boolean> {
    const isUsed = await exact.witness.isUsed?.(authorization, requirements).catch(() => false);
    if (!isUsed) return false;
    const known = await this.database.query(find, keyOf(requirements, authorization));
    return known.length === 0;
  }

  private isTooCostly({ payload }: ExactPayload, { network }: ExactRequirements, feeMicros: bigint): boolean {
    if (!('transaction' in payload)) return false;
    const transaction = readTransaction(payload.transaction as string);
    return transaction !== null && isTooCostlyOnSolana(transaction, network, feeMicros, this.config.x402CoinPrices);
  }

  /** @throws UnavailableError if the facilitator does not answer in time or its answer is not usable. */
  async verify({ payload, requirements, exact }: SignedPayment, feeMicros: bigint): Promise<Verified> {
    try {
      return await exact.facilitators.verify(payload, requirements, feeMicros, this.config.x402RpcTimeoutMs);
    } catch (error) {
      throw new UnavailableError(`the facilitator of ${requirements.network} (${messageOf(error)})`, { cause: error });
    }
  }

  private inTime<T>(answer: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('no answer in time')), this.config.x402RpcTimeoutMs).unref();
    });
    return Promise.race([answer, tooLate]).finally(() => clearTimeout(timer));
  }

  /** The balance in base units of the asset; null if it is not known. */
  balanceOf(payer: string, { exact, requirements }: ExactTerms): Promise<bigint | null> {
    return this.inTime(exact.witness.balanceOf(payer, requirements)).catch(() => null);
  }

  /**
   * Cancels the payment of an authorization that can no longer be settled. Nothing was charged, because the call was
   * not delivered in time.
   */
  async lapse(tx: Tx, paymentId: string): Promise<void> {
    await tx.query(lapse, [paymentId]);
  }

  /** @returns the payment, or why the authorization does not pay it: another payment has used it. */
  async store(tx: Tx, holding: Holding): Promise<Held | Rejection> {
    const [held] = await tx.query<PaymentRow>(hold, hold.values({ holdings: [toHoldingRow(holding)] }));
    return held ? { held } : { rejected: await this.reasonAgainst(holding, tx) };
  }

  /**
   * Stores authorizations with the commit of the transaction, at most one for each payment.
   * @returns the payments that they pay, to be awaited after the commit. An authorization whose payment is missing was
   * used before.
   */
  sendAll(tx: Tx, holdings: Holding[]): { rows: Promise<PaymentRow[]> } {
    if (holdings.length === 0) return { rows: Promise.resolve([]) };
    return tx.send<PaymentRow>(hold, hold.values({ holdings: holdings.map(toHoldingRow) }));
  }

  /** The payment that pays this call by a signature and is not settled, delivered or answered yet. */
  async findOpenCall(
    call: Pick<PaymentRow, 'buyer_id' | 'listing_id' | 'body_digest'>,
  ): Promise<CallPaymentRow | undefined> {
    const { buyer_id, listing_id, body_digest } = call;
    return (await this.database.query<CallPaymentRow>(findOpen, [buyer_id, listing_id, body_digest]))[0];
  }

  /** The same for a wallet. */
  async findOpenCallOf(
    { network, asset, payer }: PayerKey,
    { listing_id, body_digest }: Pick<PaymentRow, 'listing_id' | 'body_digest'>,
  ): Promise<CallPaymentRow | undefined> {
    const values = [network, asset, payer, listing_id, body_digest];
    return (await this.database.query<CallPaymentRow>(findOpenOfPayer, values))[0];
  }

  /**
   * The call under whatever account that keeps a new signature of its wallet from being held; undefined for a signature
   * that was used before.
   */
  async findCallUnderWay(
    payer: PayerKey,
    { requirements, authorization }: Pick<Examined, 'requirements' | 'authorization'>,
    call: Pick<PaymentRow, 'listing_id' | 'body_digest'>,
  ): Promise<CallPaymentRow | undefined> {
    const known = await this.database.query(find, keyOf(requirements, authorization));
    return known.length > 0 ? undefined : this.findOpenCallOf(payer, call);
  }

  /** Why an authorization could not be held: a payment has used it before. */
  async reasonAgainst(
    { paymentId, examined }: Pick<Holding, 'paymentId' | 'examined'>,
    through: Pick<Tx, 'query'> = this.database,
  ): Promise<string> {
    const { requirements, authorization } = examined;
    const [known] = await through.query<{ payment_id: string }>(find, keyOf(requirements, authorization));
    if (known?.payment_id === paymentId) return 'authorization_already_refused';
    return isSolana(requirements.network) ? 'duplicate_settlement' : 'invalid_exact_evm_nonce_already_used';
  }

  private railOf(payment: PaymentRow): PaymentRail | undefined {
    return this.rails.find(({ id }) => id === payment.rail);
  }
}

export function toHoldingRow({ paymentId, examined, isUsed }: Holding) {
  const { requirements, authorization, text, facilitator, callMs, place } = examined;
  const { validBefore, nonce } = authorization;
  return {
    id: newId(),
    payment_id: paymentId,
    ...payerKeyOf(requirements, authorization.payer),
    nonce,
    valid_before: validBefore < MAX_TIMESTAMP ? validBefore : MAX_TIMESTAMP,
    payload: text,
    facilitator,
    call_ms: callMs,
    is_used: isUsed,
    rail: place.rail,
    pay_to: place.pay_to,
    payee: place.payee,
    listing_id: place.body_digest && place.listing_id,
    body_digest: place.body_digest,
  };
}

/** The unique key of an authorization: network, asset, payer and nonce. */
function keyOf(requirements: ExactRequirements, { payer, nonce }: Authorization): string[] {
  const key = payerKeyOf(requirements, payer);
  return [key.network, key.asset, key.payer, nonce];
}

/** Addresses of EVM chains are the same in any letter case, so the key has them in lower case. */
export const payerKeyOf = ({ network, asset }: ExactRequirements, payer: string): PayerKey =>
  isSolana(network) ? { network, asset, payer } : { network, asset: asset.toLowerCase(), payer: payer.toLowerCase() };
