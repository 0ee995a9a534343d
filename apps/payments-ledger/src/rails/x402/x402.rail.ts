import { createOffer } from '@market/contracts/payments-ledger';
import { invariant } from '@market/kernel';
import { refuse, type RequestContext } from '@market/messaging';
import type { Address } from 'viem';
import type { Observation } from '../../payments/payment-state.js';
import {
  baseUnitsOf,
  USDC_TERMS,
  type DraftOffer,
  type ExactPayee,
  type Opening,
  type PaymentRail,
  type PricedOffer,
  type Route,
} from '../payment-rail.js';
import { SellerWallets } from '../seller-wallets.js';
import { AuthorizationsOnChain } from './authorizations-on-chain.js';
import { requirementsOf, type ExactRequirements } from './exact-payment.js';
import type { Facilitator, HeldAuthorization, Settlement } from './facilitator.js';
import type { X402Chain } from './x402-settings.js';

export interface X402RailSettings {
  /** The operator's address, which every authorization pays, or where each seller is paid. */
  payTo: Address | SellerWallets;
  chains: X402Chain[];
  minimumMicros: bigint;
  facilitator: Facilitator;
  requestTimeoutMs: number;
}

/**
 * USDC on EVM chains by signed authorizations alone (x402 `exact`). Many offers pay one address, so a plain transfer to it pays
 * for nothing: an offer's money is recognised by the nonce of the authorization that was held for it.
 */
export class X402Rail implements PaymentRail {
  readonly id = 'x402';
  readonly prunable = true;
  readonly authoritative = true;
  readonly exact: NonNullable<PaymentRail['exact']>;
  private readonly chains: Map<string, { chain: X402Chain; authorizations: AuthorizationsOnChain }>;

  constructor(private readonly settings: X402RailSettings) {
    this.chains = new Map(
      settings.chains.map((chain) => [
        chain.network,
        { chain, authorizations: new AuthorizationsOnChain(chain, settings.requestTimeoutMs) },
      ]),
    );
    this.exact = {
      payTo: settings.payTo instanceof SellerWallets ? null : settings.payTo,
      payeesOf: (sellerIds, context) => payeesOf(settings.payTo, sellerIds, context),
      facilitator: settings.facilitator,
      requirements: (offer) => this.requirements(offer),
      balanceOf: (payer, requirements) => this.chainOf(requirements).authorizations.balanceOf(payer, requirements),
      isUsed: (authorization, requirements) =>
        this.chainOf(requirements).authorizations.isUsed(authorization, requirements),
      isSettledBy: (transactionHash, authorization, requirements) =>
        this.chainOf(requirements).authorizations.isSettledBy(transactionHash, authorization, requirements),
      settlementOf: (authorization, requirements) => this.settlementOf(authorization, requirements),
    };
  }

  routes(): Route[] {
    return this.settings.chains.map(({ network }) => ({
      ...USDC_TERMS,
      network,
      scheme: 'exact',
      minimumMicros: this.settings.minimumMicros,
    }));
  }

  async open({ sellerId, priceMicros }: DraftOffer, context: RequestContext): Promise<Opening> {
    const [payee] = await payeesOf(this.settings.payTo, [sellerId], context);
    if (!payee) throw refuse(createOffer, 'payment_route_unavailable', {});
    return { ...payee, amountBaseUnits: baseUnitsOf(priceMicros, USDC_TERMS) };
  }

  /** Nothing comes by itself: what became of an authorization is asked of `exact`. */
  observe(): Promise<Observation> {
    return Promise.resolve({ receivedBaseUnits: 0n, arriving: false, transactionHash: null });
  }

  private requirements(offer: PricedOffer): ExactRequirements {
    return requirementsOf(offer, this.chainOf(offer.route).chain.usdc);
  }

  private settlementOf(authorization: HeldAuthorization, requirements: ExactRequirements): Promise<Settlement | null> {
    return this.chainOf(requirements).authorizations.settlementOf(authorization, requirements);
  }

  private chainOf({ network }: Pick<Route, 'network'>): { chain: X402Chain; authorizations: AuthorizationsOnChain } {
    const chain = this.chains.get(network);
    invariant(chain, `${network} is configured`);
    return chain;
  }
}

async function payeesOf(
  payTo: Address | SellerWallets,
  sellerIds: readonly string[],
  context: RequestContext,
): Promise<(ExactPayee | null)[]> {
  if (!(payTo instanceof SellerWallets)) return sellerIds.map(() => ({ payTo, payee: 'operator' }));
  const wallets = await payTo.find(sellerIds, context);
  return wallets.map((address) => address && { payTo: address, payee: 'seller' });
}
