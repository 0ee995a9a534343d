import type { Budget, Currency, IncludedUnits, OutputOf } from '@market/contracts';
import type { CallMoney, authorizePayment, PaymentOffer } from '@market/contracts/payments-ledger';
import {
  feeRateNumber,
  formatDecimal,
  invariant,
  splitFee,
  usdNumber,
  usedMicros,
  type FeeSplit,
  type Micros,
  type Usage,
} from '@market/kernel';
import { PLAY_RAIL, type Payee, type Route, type WatchedOffer } from '../rails/payment-rail.js';
import type { PaymentState } from './payment-state.js';

type Authorized = Extract<OutputOf<typeof authorizePayment>, { outcome: 'authorized' }>;

/** The pricing models of a paid subscription. */
export type PaidModel = 'monthly' | 'yearly' | 'usage_tiered';

/**
 * A row of `payments` as pg returns it, with bigint and numeric as text. For a payment of fees, the columns of a sale
 * are null.
 */
export interface PaymentRow {
  id: string;
  relay_request_id: string;
  purpose: 'call' | 'included' | 'subscription' | 'fee';
  /** Set only for a call. */
  gateway_request_id: string | null;
  /** Set only for a subscription. */
  pricing_model: PaidModel | null;
  /** How many calls the period of a subscription includes; null if none. */
  included_calls: number | null;
  included_units: IncludedUnits | null;
  state: PaymentState;
  /** The payer: a buyer, or a seller that pays fees. */
  buyer_id: string;
  seller_id: string | null;
  listing_id: string | null;
  listing_name: string | null;
  listing_slug: string | null;
  preferred_currency: Currency | null;
  /** Set only for a call. */
  body_digest: Buffer | null;
  rail: string;
  scheme: Route['scheme'];
  network: string;
  currency: Currency;
  decimals: number;
  /** The deposit address, or the recipient of a signed authorization. */
  pay_to: string;
  /**
   * Who receives a signed payment or a payment through an external provider. A plain transfer always pays the operator.
   */
  payee: Payee;
  gross_micros: string;
  fee_micros: string;
  net_micros: string;
  fee_bps: number;
  /** Of a call that costs what it uses. The amounts in micros are then those of the charge, once that was made. */
  usage: Usage | null;
  /** The most that such a call can cost, which is what was asked for. */
  quoted_micros: string | null;
  /** What its seller said. */
  units: string | null;
  amount_base_units: string;
  received_base_units: string;
  transaction_hash: string | null;
  /** The signed authorization that pays, if any. It is held until the answer is stored, and then settled. */
  authorization_id: string | null;
  /** The terms of an offer that was not stored until it was paid, as the client returned them. */
  keyless_offer: string | null;
  /** For how long the seller may work on the call when its request is answered; null if it was not said to. */
  job_seconds: number | null;
  /** Until then, a call may be under way that a signature pays, which counts against the funds of the payer. */
  in_use_until: Date | null;
  created_at: Date;
  expires_at: Date;
  retry_until: Date | null;
  completed_at: Date | null;
  /** Whether the call was charged while nobody waited for its answer, and nobody has asked for it since. */
  is_unanswered: boolean;
  /** The budgets of the key under which the money was committed; null if there were none. */
  budgets: Budget[] | null;
  /** The day on which the payment counts against the budgets; null while it does not count. */
  reserved_on: Date | null;
}

export interface SalePaymentRow extends PaymentRow {
  purpose: 'call' | 'included' | 'subscription';
  seller_id: string;
  listing_id: string;
  listing_name: string;
  listing_slug: string;
  preferred_currency: Currency;
}

export interface CallPaymentRow extends SalePaymentRow {
  purpose: 'call' | 'included';
  gateway_request_id: string;
  body_digest: Buffer;
}

export interface SubscriptionPaymentRow extends SalePaymentRow {
  purpose: 'subscription';
  pricing_model: PaidModel;
}

export const isForSale = (row: PaymentRow): row is SalePaymentRow => row.purpose !== 'fee';
export const isForCall = (row: PaymentRow): row is CallPaymentRow =>
  row.purpose === 'call' || row.purpose === 'included';
/** Whether the payment is by an authorization that is not settled yet, so that no money has moved. */
export const paysBySignature = (row: PaymentRow): row is PaymentRow & { authorization_id: string } =>
  row.authorization_id !== null && row.received_base_units === '0';
export const isForSubscription = (row: PaymentRow): row is SubscriptionPaymentRow => row.purpose === 'subscription';

const PAYMENT_COLUMNS = [
  'id',
  'relay_request_id',
  'purpose',
  'gateway_request_id',
  'pricing_model',
  'included_calls',
  'included_units',
  'state',
  'buyer_id',
  'seller_id',
  'listing_id',
  'listing_name',
  'listing_slug',
  'preferred_currency',
  'body_digest',
  'rail',
  'scheme',
  'network',
  'currency',
  'decimals',
  'pay_to',
  'payee',
  'gross_micros',
  'fee_micros',
  'net_micros',
  'fee_bps',
  'usage',
  'quoted_micros',
  'units',
  'amount_base_units',
  'received_base_units',
  'transaction_hash',
  'authorization_id',
  'keyless_offer',
  'job_seconds',
  'in_use_until',
  'created_at',
  'expires_at',
  'retry_until',
  'completed_at',
  'is_unanswered',
  'budgets',
  'reserved_on',
];

/**
 * SQL: whether a call is paid by a signature and is not settled, not delivered or not answered. There is at most one of
 * each buyer, listing and body, by the index `payments_open_call`: each further request is that call again.
 */
export const isOpenCall = (alias: string): string =>
  `${alias}.purpose = 'call' AND ${alias}.authorization_id IS NOT NULL
     AND (${alias}.state IN ('verified', 'indeterminate') OR ${alias}.is_unanswered)`;

/** Whether an offer that was asked for belongs to an open call. */
export const isPaidCall = ({ state, authorization_id, is_unanswered }: PaymentRow): boolean =>
  is_unanswered || (authorization_id !== null && (state === 'verified' || state === 'indeterminate'));

/** SQL: the open call of the buyer, the listing and the body of `alias`. */
export const openCallOf = (alias: string): string =>
  `SELECT FROM payments o WHERE o.buyer_id = ${alias}.buyer_id AND o.listing_id = ${alias}.listing_id
     AND o.body_digest = ${alias}.body_digest AND ${isOpenCall('o')}`;

export const paymentColumns = (alias: string): string =>
  PAYMENT_COLUMNS.map((column) => `${alias}.${column}`).join(', ');

/** An offer has its time, and nothing else happens to it before it is a payment. */
const offerColumns = (columns: readonly string[]): string =>
  columns
    .map((column) =>
      column === 'state' ? `CASE WHEN p.expires_at > now() THEN 'pending' ELSE 'expired' END AS state` : `p.${column}`,
    )
    .join(', ');

/**
 * SQL: the payments `p` for which a condition is true, and the offers, of which nothing was paid or signed yet, as the
 * payments that they would be.
 */
export const paymentsAndOffers = (condition: string): string =>
  `(SELECT ${paymentColumns('p')} FROM payments p WHERE ${condition}
    UNION ALL SELECT ${offerColumns(PAYMENT_COLUMNS)} FROM offers p WHERE (${condition}) AND ${IS_OFFER})`;
/** SQL: whether offer `p` did not become a payment. */
export const IS_OFFER = 'NOT EXISTS (SELECT FROM payments q WHERE q.id = p.id)';

const STORED_COLUMNS = [...PAYMENT_COLUMNS, 'offer_key', 'key_id', 'recheck_at'];
/** SQL: makes payments of the offers `p` that `offers` says. */
export const storeOffers = (offers: string): string =>
  `INSERT INTO payments (${STORED_COLUMNS.join(', ')}) SELECT ${offerColumns(STORED_COLUMNS)} FROM ${offers}`;

export const requirementsOf = (row: PaymentRow): PaymentOffer['requirements'] => ({
  // A plain transfer does not pay an offer that requires a signature.
  depositAddress: row.scheme === 'deposit' ? row.pay_to : null,
  amount: formatDecimal(BigInt(row.amount_base_units), row.decimals),
  amount_base_units: row.amount_base_units,
  currency: row.currency,
  network: row.network,
  relayRequestId: row.relay_request_id,
  expiresAt: row.expires_at.toISOString(),
});

/** The columns of a payment that its rail needs to find the money. */
export const watchedOffer = (row: PaymentRow): WatchedOffer => ({
  paymentId: row.id,
  buyerId: row.buyer_id,
  relayRequestId: row.relay_request_id,
  route: row,
  amountBaseUnits: BigInt(row.amount_base_units),
  payTo: row.pay_to,
  createdAt: row.created_at,
  jobSeconds: row.job_seconds ?? undefined,
});

/** Amounts are in US dollars. */
export const feesOf = (row: PaymentRow): PaymentOffer['fees'] => ({
  gross_amount: usdNumber(BigInt(row.gross_micros)),
  fee_rate: feeRateNumber(row.fee_bps),
  fee_amount: usdNumber(BigInt(row.fee_micros)),
  provider_receives: usdNumber(BigInt(row.net_micros)),
});

/** The payment of a call, as its buyer sees it. */
export function toOffer(row: PaymentRow, x402: PaymentOffer['x402']): PaymentOffer {
  return {
    payment_id: row.id,
    relay_request_id: row.relay_request_id,
    status: row.state,
    provider: row.rail,
    requirements: requirementsOf(row),
    fees: feesOf(row),
    retry_headers: {
      'X-Market-Relay-Request-Id': row.relay_request_id,
      'X-Market-Payment-Scheme': row.scheme,
      'X-Market-Payment-Network': row.network,
    },
    ...(row.usage && { usage: row.usage }),
    x402,
  };
}

/** A payment that pays for a call now, as the gateway gets it. */
export const toAuthorized = (row: CallPaymentRow): Authorized => ({
  outcome: 'authorized',
  paymentId: row.id,
  gatewayRequestId: row.gateway_request_id,
  retryUntil: row.retry_until!.toISOString(),
  transactionHash: row.transaction_hash,
  isSigned: paysBySignature(row) || undefined,
  isReleasable:
    row.purpose === 'included' ||
    (row.authorization_id !== null && (paysBySignature(row) || row.keyless_offer !== null)) ||
    undefined,
  provider: row.rail,
  scheme: row.scheme,
  network: row.network,
  money: moneyOf(row),
  listing: {
    listingId: row.listing_id,
    name: row.listing_name,
    slug: row.listing_slug,
    sellerId: row.seller_id,
    preferredCurrency: row.preferred_currency,
  },
});

/**
 * Who receives the money of a sale, and where. Only signatures pay the seller's own wallet; a plain transfer pays the
 * operator.
 */
export const paidTo = ({
  payee,
  rail,
  network,
  pay_to,
  authorization_id,
}: PaymentRow): { payee: Payee; place: string } => {
  if (payee === 'split') return { payee, place: rail };
  return payee === 'seller' && authorization_id !== null
    ? { payee, place: `${network}:${pay_to}` }
    : { payee: 'operator', place: `${rail}:${network}` };
};

/**
 * What the operator has of the fee at once: nothing where the seller received the whole price and owes the fee, and
 * nothing of play money, which is worth nothing.
 */
export const feeReceivedMicros = (row: PaymentRow): string =>
  row.rail === PLAY_RAIL || paidTo(row).payee === 'seller' ? '0' : row.fee_micros;

/** The price, the fee and the seller's part in micros. */
export const splitOf = (row: PaymentRow): FeeSplit => ({
  gross: BigInt(row.gross_micros),
  fee: BigInt(row.fee_micros),
  net: BigInt(row.net_micros),
});

/** The money of a call in the form of the contracts. */
export const moneyOf = (row: PaymentRow): CallMoney => ({
  grossMicros: row.gross_micros,
  feeMicros: row.fee_micros,
  netMicros: row.net_micros,
  feeBps: row.fee_bps,
  ...(row.usage && { usage: row.usage }),
});

/** The part of a received amount that the seller holds: all of it, none, or all but the operator's fee. */
export function sellersPart(row: PaymentRow, amount: Micros): Micros {
  const { payee } = paidTo(row);
  if (payee === 'operator') return 0n;
  if (payee === 'seller') return amount;
  const quoted = splitFee(quotedMicros(row), row.fee_bps);
  return amount - (amount * quoted.fee) / quoted.gross;
}

/** What was asked for: the price, or the most that a call can cost. */
export const quotedMicros = ({ quoted_micros, gross_micros }: PaymentRow): Micros =>
  BigInt(quoted_micros ?? gross_micros);

/** The part of what was asked for that an amount on the rail covers, in micros, rounded down. */
export function worthMicros(row: PaymentRow, baseUnits: bigint): Micros {
  return (baseUnits * quotedMicros(row)) / BigInt(row.amount_base_units);
}

/** What so many units of a call that costs what it uses cost; undefined for any other call. */
export function chargeOf(row: PaymentRow, units: number | undefined): FeeSplit | undefined {
  if (!row.usage) return undefined;
  // A gateway stores no answer without units.
  invariant(units !== undefined, `the units of payment ${row.id} are known`);
  return splitFee(usedMicros(row.usage, units, quotedMicros(row)), row.fee_bps);
}

/**
 * The part of the received money that is owed to the buyer, or was owed before the refund: all of it if there was no
 * sale, otherwise the surplus and what a call that costs what it uses did not use.
 */
export function owedMicros(row: PaymentRow): Micros {
  const received = BigInt(row.received_base_units);
  if (row.state === 'refund_due' || row.state === 'refunded') return worthMicros(row, received);
  // A signed authorization moves no money before it is settled.
  const sold =
    row.state === 'verified' ? quotedMicros(row) : row.state === 'completed' ? BigInt(row.gross_micros) : null;
  const surplus = sold === null ? 0n : worthMicros(row, received) - sold;
  return surplus > 0n ? surplus : 0n;
}

/** What a signature of `upto` moves of the most that it is for, once its call has used so many units. */
export function movedBaseUnits(row: PaymentRow, scheme: string, units: number | undefined): bigint {
  const asked = BigInt(row.amount_base_units);
  const charge = scheme === 'upto' && units !== undefined ? chargeOf(row, units) : undefined;
  return charge ? (asked * charge.gross + quotedMicros(row) - 1n) / quotedMicros(row) : asked;
}

/** What the operator gets of a payment; all of one that pays fees. */
export const feeOf = ({ purpose, fee_micros, gross_micros }: PaymentRow): bigint =>
  BigInt(purpose === 'fee' ? gross_micros : fee_micros);
