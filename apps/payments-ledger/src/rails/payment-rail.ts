import type { Currency } from '@market/contracts';
import type { Micros } from '@market/kernel';
import type { RequestContext } from '@market/messaging';
import type { Address } from 'viem';
import type { Observation } from '../payments/payment-state.js';
import type { ExactRequirements } from './x402/exact-payment.js';
import type { Facilitator, HeldAuthorization, Settlement } from './x402/facilitator.js';

/** One way money can take: a currency on a chain. */
export interface Route {
  currency: Currency;
  /** CAIP-2 chain id. */
  network: string;
  decimals: number;
  /** `deposit`: a transfer to an address; `exact`: a signed authorization of x402. */
  scheme: 'deposit' | 'exact';
  /** Least price in micros that this route carries. */
  minimumMicros: Micros;
  /** What one whole unit costs, in USD micros; null where the rail learns the amount of each offer from another party. */
  unitPriceMicros: Micros | null;
}

/** An offer about to be made. */
export interface DraftOffer {
  relayRequestId: string;
  route: Route;
  priceMicros: Micros;
  /** The seller's part of the price. */
  netMicros: Micros;
  feeBps: number;
  buyerId: string;
  sellerId: string;
  /** The wallet that the buyer says it pays from. */
  originWalletId?: string;
}

/** Where and what an offer is paid; what is left out stays as drafted. */
export interface Opening {
  /** A deposit address, or the recipient that a signed authorization names. */
  payTo: string;
  amountBaseUnits: bigint;
  relayRequestId?: string;
  expiresAt?: Date;
  /** When the rail is asked again about an offer that nothing had come for at its end; not at all where nothing is said. */
  lookAgainAt?: Date;
}

/** What a rail must know of an offer to watch for its money. */
export interface WatchedOffer {
  paymentId: string;
  relayRequestId: string;
  route: Pick<Route, 'currency' | 'network'>;
  amountBaseUnits: bigint;
  payTo: string;
  createdAt: Date;
}

/** What a signed authorization of an offer is made from. */
export type PricedOffer = Pick<WatchedOffer, 'relayRequestId' | 'route' | 'amountBaseUnits' | 'payTo'>;

/**
 * A payment rail. It says where an offer is to be paid and what has arrived there, and decides nothing else: states,
 * journal and receipts are the same for every rail. `observe` must be safe to repeat, and throws when it does not
 * know; not knowing is never "not paid".
 */
export interface PaymentRail {
  readonly id: string;
  /** Nothing can come any more for an offer long over, so that it need not be kept. */
  readonly forgets?: true;
  /** A payment that `observe` does not see was not made: none is on its way unseen. */
  readonly seesAll?: true;
  /** Offers are another party's to open: it is asked as rarely as can be, and not while there is one. */
  readonly opensElsewhere?: true;
  routes(): Route[];
  /** Called for every quote, unless the rail opens elsewhere: then nothing but arithmetic. @throws Refusal of `createOffer` where another party opens none. */
  open(draft: DraftOffer, context: RequestContext): Opening | Promise<Opening>;
  observe(offer: WatchedOffer): Promise<Observation>;
  /** Where another party holds money on its way: what became of what it took and did not deliver for an offer; null where it took none. */
  fate?(offer: WatchedOffer): Promise<{ explained: boolean; why: string } | null>;
  /** Offers that can be paid by a signed authorization (x402 `exact`). */
  readonly exact?: {
    /** The recipient of every authorization, which tells no offer from another: that is what its nonce is for. */
    readonly payTo: Address;
    /** What is signed for an offer; null where its route takes no authorization. */
    requirements(offer: PricedOffer): ExactRequirements | null;
    readonly facilitator: Facilitator;
    /** Of the requirements' asset. @throws Error where it is not known. */
    balanceOf?(payer: Address, requirements: ExactRequirements): Promise<bigint>;
    /** What became of an authorization that the facilitator was given; null while it may still be settled. @throws Error when that is not known. */
    settlementOf(authorization: HeldAuthorization, requirements: ExactRequirements): Promise<Settlement | null>;
  };
}

/** A USD price in a route's base units, rounded up so that what arrives always covers the price. */
export function baseUnitsOf(
  price: Micros,
  { decimals, unitPriceMicros }: { decimals: number; unitPriceMicros: Micros },
): bigint {
  return (price * 10n ** BigInt(decimals) + unitPriceMicros - 1n) / unitPriceMicros;
}

/** USDC is a dollar. */
export const USDC_TERMS = { currency: 'USDC', decimals: 6, unitPriceMicros: 1_000_000n } as const;

export const PAYMENT_RAILS = Symbol('payment rails');
