import { createOffer } from '@market/contracts/payments-ledger';
import { invariant } from '@market/kernel';
import { refuse, type RequestContext } from '@market/messaging';
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
import { SellerWallets, type ChainType } from '../seller-wallets.js';
import type { ExactRequirements } from './exact-payment.js';
import type { SettlementWitness } from './facilitator.js';
import type { Facilitators } from './facilitators.js';
import { uptoOf } from './permit2.js';

/** A network on which the rail takes signed payments. */
export interface X402Network {
  /** CAIP-2 id. */
  network: string;
  witness: SettlementWitness;
  /** The terms that are signed for an offer; null while the facilitator has not named the fee payer. */
  requirements(offer: PricedOffer, feePayer?: string): ExactRequirements | null;
}

export interface X402RailSettings {
  id: 'x402' | 'x402-solana';
  chainType: ChainType;
  /** The operator's address, which every authorization pays, or the wallets of the sellers. */
  payTo: string | SellerWallets;
  networks: X402Network[];
  minimumMicros: bigint;
  facilitators: Facilitators;
}

/**
 * USDC by signed authorizations only (x402 `exact`), on EVM chains or on Solana. Many offers have the same address, so
 * a plain transfer to it pays no offer. The money of an offer is identified by the authorization that is held for it.
 */
export class X402Rail implements PaymentRail {
  readonly id: string;
  readonly prunable = true;
  readonly authoritative = true;
  readonly payout: PaymentRail['payout'];
  readonly exact: NonNullable<PaymentRail['exact']>;
  private readonly networks: Map<string, X402Network>;

  constructor(private readonly settings: X402RailSettings) {
    this.id = settings.id;
    this.payout =
      settings.payTo instanceof SellerWallets
        ? { chainType: settings.chainType, networks: settings.networks.map(({ network }) => network), isRequired: true }
        : null;
    this.networks = new Map(settings.networks.map((each) => [each.network, each]));
    const witnessOf = (requirements: ExactRequirements): SettlementWitness => this.networkOf(requirements).witness;
    this.exact = {
      payTo: settings.payTo instanceof SellerWallets ? null : settings.payTo,
      payeesOf: (sellerIds, context) => this.payeesOf(sellerIds, context),
      facilitators: settings.facilitators,
      requirements: (offer, feePayer) => this.networkOf(offer.route).requirements(offer, feePayer),
      upto: (offer, account = settings.facilitators.uptoAddressOf(offer.route.network) ?? undefined) => {
        const asked = settings.chainType === 'evm' && account !== undefined ? this.exact.requirements(offer) : null;
        return asked && uptoOf(asked, account!);
      },
      witness: {
        balanceOf: (payer, requirements) => witnessOf(requirements).balanceOf(payer, requirements),
        isWatched: (requirements) => witnessOf(requirements).isWatched(requirements),
        isUsed: (held, requirements) => witnessOf(requirements).isUsed(held, requirements),
        isSettledBy: (hash, held, requirements) => witnessOf(requirements).isSettledBy(hash, held, requirements),
        isSignedBy: (address, hash, signature, requirements) =>
          witnessOf(requirements).isSignedBy!(address, hash, signature, requirements),
        settlementOf: (held, requirements) => witnessOf(requirements).settlementOf(held, requirements),
      },
    };
  }

  routes(): Route[] {
    return this.settings.networks.map(({ network }) => ({
      ...USDC_TERMS,
      network,
      scheme: 'exact',
      minimumMicros: this.settings.minimumMicros,
      closed: this.settings.facilitators.problemOn(network),
    }));
  }

  async open({ relayRequestId, route, sellerId, priceMicros }: DraftOffer, context: RequestContext): Promise<Opening> {
    const [payee] = await this.payeesOf([sellerId], context);
    const amountBaseUnits = baseUnitsOf(priceMicros, USDC_TERMS);
    if (!payee || !this.exact.requirements({ relayRequestId, route, amountBaseUnits, payTo: payee.payTo }))
      throw refuse(createOffer, 'payment_route_unavailable', {});
    return { ...payee, amountBaseUnits };
  }

  /** Reports no money. The outcome of an authorization comes from `exact`. */
  observe(): Promise<Observation> {
    return Promise.resolve({ receivedBaseUnits: 0n, arriving: false, transactionHash: null });
  }

  private async payeesOf(sellerIds: readonly string[], context: RequestContext): Promise<(ExactPayee | null)[]> {
    const { payTo, chainType } = this.settings;
    if (!(payTo instanceof SellerWallets)) return sellerIds.map(() => ({ payTo, payee: 'operator' }));
    const wallets = await payTo.find(sellerIds, chainType, context);
    return wallets.map((address) => (address === null ? null : { payTo: address, payee: 'seller' }));
  }

  private networkOf({ network }: Pick<Route, 'network'>): X402Network {
    const found = this.networks.get(network);
    invariant(found, `${network} is configured`);
    return found;
  }
}
