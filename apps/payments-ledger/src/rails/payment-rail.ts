import type { Currency } from '@market/contracts';
import type { Micros } from '@market/kernel';
import type { Call } from '@market/messaging';
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
  /** Least amount that the chain itself carries there; where absent, any. */
  minimumBaseUnits?: bigint;
}

/** An offer about to be made. */
export interface DraftOffer {
  relayRequestId: string;
  route: Route;
  /** What the price is worth on the route. */
  amountBaseUnits: bigint;
  priceMicros: Micros;
  /** The seller's part of the price. */
  netMicros: Micros;
  feeBps: number;
  buyerId: string;
  sellerId: string;
  /** The wallet that the buyer says it pays from. */
  originWalletId?: string;
}

/** Where an offer is paid; what is left out stays as drafted. */
export interface Opening {
  depositAddress: string;
  /** What a transfer must name where the address is not the offer's alone. */
  reference?: string;
  relayRequestId?: string;
  amountBaseUnits?: bigint;
  expiresAt?: Date;
  /** When money that may have come too late is first looked for; at the end of the offer's time where nothing is said. */
  lookAgainAt?: Date;
}

/** What a rail must know of an offer to watch for its money. */
export interface WatchedOffer {
  paymentId: string;
  relayRequestId: string;
  route: Pick<Route, 'currency' | 'network'>;
  amountBaseUnits: bigint;
  priceMicros: bigint;
  depositAddress: string;
  reference: string | null;
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
  /** A payment that `observe` does not see was not made: none is on its way unseen. */
  readonly seesAll?: true;
  /** Offers are another party's to open: it is asked as rarely as can be, and not while there is one. */
  readonly opensElsewhere?: true;
  routes(): Route[];
  /** Called for every quote, unless the rail opens elsewhere: then nothing but arithmetic. @throws Refusal of `createOffer` where another party opens none. */
  open(draft: DraftOffer, call: Call): Opening | Promise<Opening>;
  observe(offer: WatchedOffer): Promise<Observation>;
  /** Where another party holds money on its way: what became of what it took and did not deliver for an offer; null where it took none. */
  fate?(offer: WatchedOffer): Promise<{ explained: boolean; why: string } | null>;
  /** Where each offer has an address of its own: how the holder of the keys reaches it, and what lies there now. */
  readonly deposits?: { pathOf(offer: Pick<WatchedOffer, 'relayRequestId'>): string; balance(offer: WatchedOffer): Promise<bigint> };
  /** Offers that can also be paid by a signed authorization (x402 `exact`): what is signed, null where not, and who settles it. */
  readonly exact?: {
    /** Such an offer is paid where its id says. */
    depositAddress(offer: Pick<PricedOffer, 'relayRequestId' | 'route'>): string;
    requirements(offer: PricedOffer): ExactRequirements | null;
    facilitator: Facilitator;
  };
}

export const PAYMENT_RAILS = Symbol('payment rails');
