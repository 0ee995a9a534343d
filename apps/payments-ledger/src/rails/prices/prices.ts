import type { Currency } from '@market/contracts';
import { invariant } from '@market/kernel';
import { Jobs } from '@market/runtime';
import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../../config.js';
import { ChainlinkSource } from './chainlink.source.js';
import { HttpSource } from './http.source.js';
import type { PriceSetting } from './price-settings.js';
import type { PriceSource } from './price-source.js';
import { DOLLAR, type UnitPrice } from './unit-price.js';
import { WatchedPrice } from './watched-price.js';

type Priced = Exclude<Currency, 'USDC'>;

/** What each currency costs; USDC is a dollar. What changes is read in the background, so that a quote waits for it only when it went stale. */
@Injectable()
export class Prices implements OnApplicationBootstrap {
  private readonly logger = new Logger('Prices');
  private readonly fixed = new Map<Currency, UnitPrice>([['USDC', DOLLAR]]);
  private readonly watched = new Map<Currency, WatchedPrice>();

  constructor(
    private readonly jobs: Jobs,
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {
    const settings: Record<Priced, PriceSetting> = { ETH: config.priceEth, SOL: config.priceSol };
    for (const [currency, setting] of Object.entries(settings) as [Priced, PriceSetting][]) {
      if (setting.kind === 'fixed') this.fixed.set(currency, { micros: setting.micros, at: null });
      else this.watched.set(currency, new WatchedPrice(this.sourceOf(setting), config.priceMaxAgeSeconds * 1000, (problem) => this.tell(currency, problem)));
    }
  }

  onApplicationBootstrap(): void {
    if (this.watched.size === 0) return;
    void this.refresh();
    this.jobs.every('refresh-prices', this.config.priceRefreshSeconds * 1000, () => this.refresh());
  }

  /** Null while the price is not known. */
  async of(currency: Currency): Promise<UnitPrice | null> {
    const fixed = this.fixed.get(currency);
    if (fixed) return fixed;
    const watched = this.watched.get(currency);
    invariant(watched, `${currency} has a price`);
    return watched.get();
  }

  private async refresh(): Promise<void> {
    await Promise.all([...this.watched.values()].map((price) => price.refresh()));
  }

  private sourceOf(setting: Exclude<PriceSetting, { kind: 'fixed' }>): PriceSource {
    const timeoutMs = this.config.priceTimeoutMs;
    if (setting.kind === 'http') return new HttpSource({ ...setting, timeoutMs });
    const { network, aggregator } = setting;
    const rpcUrls = this.config.priceRpcUrls?.get(network) ?? this.config.evmRpcUrls?.get(network);
    if (!rpcUrls) throw new Error(`PAYMENTS_LEDGER_PRICE_RPC_URLS names no server of ${network}, where a price is read`);
    return new ChainlinkSource({ chainId: Number(network.slice('eip155:'.length)), aggregator, rpcUrls, timeoutMs });
  }

  private tell(currency: Currency, problem: string | null): void {
    if (problem === null) this.logger.log(`the price of ${currency} is known again`);
    else this.logger.warn(`the price of ${currency} cannot be read: ${problem}`);
  }
}
