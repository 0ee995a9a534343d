import type { Currency } from '@market/contracts';
import { invariant } from '@market/kernel';
import { address, type Address } from '@solana/kit';
import type { Observation } from '../../payments/payment-state.js';
import type { DraftOffer, Opening, PaymentRail, Route, WatchedOffer } from '../payment-rail.js';
import { DepositAddresses, pathTextOf } from './deposit-addresses.js';
import { SolanaChain, type SolanaLimits } from './solana-chain.js';
import type { SolanaChainSettings } from './solana-settings.js';

export interface SolanaRailSettings extends SolanaLimits {
  /** Spends what is paid. */
  seed: Uint8Array;
  /** An account that exists, for SOL below what an address of its own would have to hold; where absent, such prices have no route. */
  receiver?: Address;
  chains: SolanaChainSettings[];
  minimumMicros: Record<'USDC' | 'SOL', bigint>;
}

const DECIMALS = { USDC: 6, SOL: 9 } as const;

/** Transfers of SOL and USDC on Solana, to an address of its own for each offer, or naming it where that could not hold so little; finalized ones count. */
export class SolanaRail implements PaymentRail {
  readonly id = 'onchain-solana';
  private readonly addresses: DepositAddresses;
  private readonly chains: Map<string, SolanaChain>;

  readonly deposits: NonNullable<PaymentRail['deposits']> = {
    pathOf: ({ relayRequestId }) => pathTextOf(relayRequestId),
    balance: async ({ route, depositAddress, reference }) => (reference === null ? this.chainOf(route).balance(address(depositAddress), this.mintOf(route)) : 0n),
  };

  constructor(private readonly settings: SolanaRailSettings) {
    this.addresses = new DepositAddresses(settings.seed);
    this.chains = new Map(settings.chains.map((chain) => [chain.network, new SolanaChain(chain, settings)]));
  }

  routes(): Route[] {
    return this.settings.chains.flatMap(({ network, usdc }) => [...(usdc ? [this.route('USDC', network)] : []), this.settings.receiver ? this.route('SOL', network) : { ...this.route('SOL', network), minimumBaseUnits: this.chainOf({ network }).leastLamports() }]);
  }

  /** The address that an offer would have of its own is the reference where it has none. */
  open({ relayRequestId, route, amountBaseUnits }: Pick<DraftOffer, 'relayRequestId' | 'route' | 'amountBaseUnits'>): Opening {
    const { receiver } = this.settings;
    const own = this.addresses.of(relayRequestId);
    return receiver && route.currency === 'SOL' && amountBaseUnits < this.chainOf(route).leastLamports() ? { depositAddress: receiver, reference: own } : { depositAddress: own };
  }

  async observe({ route, depositAddress, reference }: WatchedOffer): Promise<Observation> {
    if (reference !== null) return this.chainOf(route).arrivedNaming(address(reference), address(depositAddress));
    return this.chainOf(route).arrived(address(depositAddress), this.mintOf(route));
  }

  private chainOf({ network }: Pick<Route, 'network'>): SolanaChain {
    const chain = this.chains.get(network);
    invariant(chain, `${network} is configured`);
    return chain;
  }

  private mintOf({ currency, network }: WatchedOffer['route']): Address | null {
    if (currency === 'SOL') return null;
    const usdc = this.settings.chains.find((chain) => chain.network === network)?.usdc;
    invariant(currency === 'USDC' && usdc, `USDC is configured on ${network}`);
    return usdc;
  }

  private route(currency: Extract<Currency, keyof typeof DECIMALS>, network: string): Route {
    return { currency, network, decimals: DECIMALS[currency], scheme: 'deposit', minimumMicros: this.settings.minimumMicros[currency] };
  }
}
