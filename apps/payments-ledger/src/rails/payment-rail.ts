import type { Currency } from '@market/contracts';
import type { Observation } from '../payments/payment-state.js';
import type { ExactRequirements } from './x402/exact-payment.js';
import type { Facilitator } from './x402/facilitator.js';

/** One way money can take: a currency on a chain. */
export interface Route {
  currency: Currency;
  /** CAIP-2 chain id. */
  network: string;
  decimals: number;
  /** How the retry names this kind of payment. */
  scheme: string;
  /** Least price in micros that this route carries. */
  minimumMicros: bigint;
}

/** What a rail must know of an offer to watch for its money. */
export interface WatchedOffer {
  paymentId: string;
  relayRequestId: string;
  route: Pick<Route, 'currency' | 'network'>;
  amountBaseUnits: bigint;
  priceMicros: bigint;
  depositAddress: string;
  createdAt: Date;
}

/** What a signed authorization of an offer is made from. */
export type PricedOffer = Pick<WatchedOffer, 'relayRequestId' | 'route' | 'amountBaseUnits' | 'depositAddress'>;

/**
 * A payment rail. It says where an offer is to be paid and what has arrived there, and decides nothing else: states,
 * journal and receipts are the same for every rail. `observe` must be safe to repeat, and throws when it does not
 * know; not knowing is never "not paid".
 */
export interface PaymentRail {
  readonly id: string;
  /** Nothing can come any more for an offer long over, so that it need not be kept. On a chain money may come to an address at any time. */
  readonly forgets?: true;
  routes(): Route[];
  depositAddress(offer: Pick<WatchedOffer, 'relayRequestId' | 'route'>): string;
  observe(offer: WatchedOffer): Promise<Observation>;
  /** Where each offer has an address of its own: how the holder of the keys reaches it, and what lies there now. */
  readonly deposits?: { pathOf(offer: Pick<WatchedOffer, 'relayRequestId'>): string; balance(offer: WatchedOffer): Promise<bigint> };
  /** Offers that can also be paid by a signed authorization (x402 `exact`): what is signed, null where not, and who settles it. */
  readonly exact?: { requirements(offer: PricedOffer): ExactRequirements | null; facilitator: Facilitator };
}

export const PAYMENT_RAILS = Symbol('payment rails');
