import type { Currency } from '@market/contracts';
import type { Micros } from '@market/kernel';
import type { RequestContext } from '@market/messaging';
import type { Tx } from '@market/persistence';
import type { Observation } from '../payments/payment-state.js';
import type { ChainType } from './seller-wallets.js';
import type { ExactRequirements } from './x402/exact-payment.js';
import type { SettlementWitness } from './x402/facilitator.js';
import type { Facilitators } from './x402/facilitators.js';

/** A currency on a chain, and the scheme by which it is paid there. */
export interface Route {
  currency: Currency;
  /** CAIP-2 chain id. */
  network: string;
  decimals: number;
  /** `deposit`: a transfer to an address; `exact`: a signed authorization of x402. */
  scheme: 'deposit' | 'exact';
  /** The lowest price, in micros, that can be paid over this route. */
  minimumMicros: Micros;
  /** Only for requests that name no currency, because another route of the same currency and chain has a minimum. */
  isDefaultOnly?: true;
  /** Why no offer is made on this route now; absent if offers are made. */
  closed?: string;
  /** The price of one whole unit in USD micros; null if the rail gets the amount of each offer from its provider. */
  unitPriceMicros: Micros | null;
}

/**
 * Who receives the money of a sale. `operator`: the operator receives the price and owes the seller its part. `seller`:
 * the seller receives the price and owes the fee. `split`: each receives its part.
 */
export type Payee = 'operator' | 'seller' | 'split';

/** The terms of an offer before it is opened. */
export interface DraftOffer {
  relayRequestId: string;
  route: Route;
  priceMicros: Micros;
  /** The seller's part of the price. */
  netMicros: Micros;
  feeBps: number;
  buyerId: string;
  sellerId: string;
  /** The wallet from which the buyer says it pays. */
  originWalletId?: string;
}

/** The recipient of a signed authorization. */
export interface ExactPayee {
  payTo: string;
  payee: Extract<Payee, 'operator' | 'seller'>;
}

/** Where an offer is paid, and the amount. Optional fields that are missing keep the drafted value. */
export interface Opening {
  /** A deposit address, or the recipient that a signed authorization names. */
  payTo: string;
  payee: Payee;
  amountBaseUnits: bigint;
  relayRequestId?: string;
  expiresAt?: Date;
  /**
   * When the rail is asked again about an offer that was unpaid at its expiry. Without it, the rail is not asked again.
   */
  recheckAt?: Date;
}

/**
 * How new an observation has to be. `recent`: a buyer asks, perhaps again and again, and gets what was seen a moment
 * ago. `current`, unless said: an offer ends by it. `announced`: the provider said itself that something changed.
 */
export type Freshness = 'recent' | 'current' | 'announced';

/** The data that a rail needs to find the money for an offer. */
export interface WatchedOffer {
  paymentId: string;
  buyerId: string;
  relayRequestId: string;
  route: Pick<Route, 'currency' | 'network'>;
  amountBaseUnits: bigint;
  payTo: string;
  createdAt: Date;
  /** How long the seller may work on the call after its request is answered. */
  jobSeconds?: number | undefined;
}

/** The parts of an offer that a signed authorization contains. */
export type PricedOffer = Pick<WatchedOffer, 'relayRequestId' | 'route' | 'amountBaseUnits' | 'payTo' | 'jobSeconds'>;

/**
 * A payment rail says where an offer is to be paid and what has arrived there. It decides nothing else: states, journal
 * and receipts are the same for every rail. `observe` must be safe to repeat. It throws if the outcome is unknown; an
 * unknown outcome is never reported as unpaid.
 */
export interface PaymentRail {
  readonly id: string;
  /** Nothing can arrive for an offer that expired long ago, so such offers may be deleted. */
  readonly prunable?: true;
  /** A payment that `observe` does not find was not made; none can be in progress unseen. */
  readonly authoritative?: true;
  /**
   * Transfers are rows of this database. They are read again under the payment's lock, because one may have been added
   * since.
   */
  readonly local?: true;
  /** An external provider opens the offers. It is asked as rarely as possible, and never while a live offer exists. */
  readonly external?: true;
  /**
   * Where the rail pays the wallets of sellers, and whether it can pay no other sellers; null if it pays the operator.
   */
  readonly payout: { chainType: ChainType; networks: string[]; isRequired: boolean } | null;
  routes(): Route[];
  /**
   * Called for every quote. Unless the rail is `external`, its only I/O is the lookup by `SellerWallets`. @throws
   * Refusal of `createOffer` if the provider opens no offer.
   */
  open(draft: DraftOffer, context: RequestContext): Opening | Promise<Opening>;
  /**
   * @param through the transaction in which a `local` rail reads the transfers.
   */
  observe(offer: WatchedOffer, through?: Pick<Tx, 'query'>, freshness?: Freshness): Promise<Observation>;
  /**
   * For a provider that holds money in transit: what it did with money that it received for an offer and did not
   * deliver. Null if it received none.
   */
  disposition?(offer: WatchedOffer): Promise<{ explained: boolean; why: string } | null>;
  /** Present if signed authorizations (x402 `exact`) can pay offers of this rail. */
  readonly exact?: {
    /**
     * The recipient of all authorizations; null if each authorization pays its seller. Authorizations of different
     * offers differ by their nonce.
     */
    readonly payTo: string | null;
    /**
     * The recipients of authorizations for calls of these sellers, in the order of `sellerIds`; null for a seller that
     * cannot be paid.
     */
    payeesOf(sellerIds: readonly string[], context: RequestContext): Promise<(ExactPayee | null)[]>;
    /**
     * The terms that the buyer signs for an offer; null if its route accepts no authorization.
     * @param feePayer on Solana, the account that a signed transaction names, if it is not the one that the facilitator
     * names now.
     */
    requirements(offer: PricedOffer, feePayer?: string): ExactRequirements | null;
    /**
     * The terms that the buyer signs for a call that costs what it uses (x402 `upto`); null if nobody settles them.
     * @param facilitatorAddress the account that what was signed names, if it is not the one that settles now.
     */
    upto(offer: PricedOffer, facilitatorAddress?: string): ExactRequirements | null;
    readonly facilitators: Facilitators;
    /**
     * Reports the outcome of an authorization. `isUsed` and `isSettledBy` exist if a party other than the facilitator
     * can report it.
     */
    readonly witness: Pick<SettlementWitness, 'balanceOf' | 'settlementOf'> & Partial<SettlementWitness>;
  };
}

/** Converts a USD price into a route's base units, rounded up so that the payment always covers the price. */
export function baseUnitsOf(
  price: Micros,
  { decimals, unitPriceMicros }: { decimals: number; unitPriceMicros: Micros },
): bigint {
  return (price * 10n ** BigInt(decimals) + unitPriceMicros - 1n) / unitPriceMicros;
}

/** The rail whose money is play money. */
export const PLAY_RAIL = 'sandbox';

/** One USDC counts as one dollar. */
export const USDC_TERMS = { currency: 'USDC', decimals: 6, unitPriceMicros: 1_000_000n } as const;

export const PAYMENT_RAILS = Symbol('payment rails');
