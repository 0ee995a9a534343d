import type { Currency } from '@market/contracts';
import { invariant } from '@market/kernel';
import { getAddress, type Address } from 'viem';
import type { Observation } from '../../payments/payment-state.js';
import { depositPath } from '../deposit-path.js';
import type { DraftOffer, Opening, PaymentRail, PricedOffer, Route, WatchedOffer } from '../payment-rail.js';
import { AUTHORIZATION_SECONDS, type ExactRequirements } from '../x402/exact-payment.js';
import type { Facilitator } from '../x402/facilitator.js';
import { usdcDomain } from '../x402/usdc-domain.js';
import { DepositAddresses } from './deposit-addresses.js';
import { EvmChain, type ChainLimits } from './evm-chain.js';
import type { EvmChainSettings } from './evm-settings.js';

export interface EvmRailSettings extends ChainLimits {
  extendedPublicKey: string;
  chains: EvmChainSettings[];
  minimumMicros: Record<'USDC' | 'ETH', bigint>;
  /** Up to this price a payment may be believed at `safe`; beyond it at `finalized`. 0: always `finalized`. */
  safeUpToMicros: bigint;
  /** Settles signed authorizations of USDC; without one the rail takes plain transfers alone. */
  facilitator?: Facilitator;
}

const DECIMALS = { USDC: 6, ETH: 18 } as const;

/** Plain transfers of ETH and USDC on EVM chains, to an address of its own for each offer. */
export class EvmRail implements PaymentRail {
  readonly id = 'onchain-evm';
  private readonly addresses: DepositAddresses;
  private readonly chains: Map<string, EvmChain>;

  readonly exact?: PaymentRail['exact'];
  readonly deposits: NonNullable<PaymentRail['deposits']> = {
    pathOf: ({ relayRequestId }) => `m/${depositPath(relayRequestId).join('/')}`,
    balance: ({ route, depositAddress }) => this.chainOf(route).balance(getAddress(depositAddress), this.tokenOf(route)),
  };

  constructor(private readonly settings: EvmRailSettings) {
    this.addresses = new DepositAddresses(settings.extendedPublicKey);
    if (settings.facilitator) this.exact = { depositAddress: (offer) => this.open(offer).depositAddress, requirements: (offer) => this.requirementsOf(offer), facilitator: settings.facilitator };
    this.chains = new Map(settings.chains.map((chain) => [chain.network, new EvmChain(chain, settings)]));
  }

  routes(): Route[] {
    return this.settings.chains.flatMap(({ network, usdc, takesEth }) => [...(usdc ? [this.route('USDC', network)] : []), ...(takesEth ? [this.route('ETH', network)] : [])]);
  }

  open({ relayRequestId }: Pick<DraftOffer, 'relayRequestId'>): Opening {
    return { depositAddress: this.addresses.of(relayRequestId) };
  }

  async observe({ route, depositAddress, priceMicros, createdAt }: WatchedOffer): Promise<Observation> {
    const { baseUnits, transactionHash, arriving } = await this.chainOf(route).arrived(getAddress(depositAddress), this.tokenOf(route), priceMicros <= this.settings.safeUpToMicros ? 'safe' : 'finalized', createdAt);
    return { receivedBaseUnits: baseUnits, arriving, transactionHash };
  }

  private requirementsOf({ route, amountBaseUnits, depositAddress, relayRequestId }: PricedOffer): ExactRequirements | null {
    const asset = this.tokenOf(route);
    if (!asset) return null;
    const { network } = route;
    return { scheme: 'exact', network, amount: amountBaseUnits.toString(), asset, payTo: getAddress(depositAddress), maxTimeoutSeconds: AUTHORIZATION_SECONDS, extra: { ...usdcDomain(network), relayRequestId } };
  }

  private chainOf({ network }: Pick<Route, 'network'>): EvmChain {
    const chain = this.chains.get(network);
    invariant(chain, `${network} is configured`);
    return chain;
  }

  private tokenOf({ currency, network }: WatchedOffer['route']): Address | null {
    if (currency === 'ETH') return null;
    const usdc = this.settings.chains.find((chain) => chain.network === network)?.usdc;
    invariant(currency === 'USDC' && usdc, `USDC is configured on ${network}`);
    return usdc;
  }

  private route(currency: Extract<Currency, keyof typeof DECIMALS>, network: string): Route {
    return { currency, network, decimals: DECIMALS[currency], scheme: 'deposit', minimumMicros: this.settings.minimumMicros[currency] };
  }
}
