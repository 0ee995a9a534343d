import type { Micros } from '@market/kernel';
import { BaseError, createPublicClient, fallback, http, parseAbi, type Address, type PublicClient } from 'viem';
import type { PriceSource } from './price-source.js';
import { microsOf } from './unit-price.js';

/** Source: AggregatorV3Interface of docs.chain.link/data-feeds/api-reference. */
const AGGREGATOR = parseAbi([
  'function decimals() view returns (uint8)',
  'function latestRoundData() view returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)',
]);
const MOST_DECIMALS = 36;
/** The last second a `Date` can hold. */
const LAST_SECOND = 8_640_000_000_000n;

export interface ChainlinkSettings {
  chainId: number;
  aggregator: Address;
  /** The second is asked where the first does not answer. */
  rpcUrls: string[];
  timeoutMs: number;
}

/** The latest complete round of an aggregator, under the time the aggregator gave it. */
export class ChainlinkSource implements PriceSource {
  private readonly client: PublicClient;

  constructor(private readonly settings: ChainlinkSettings) {
    this.client = createPublicClient({ transport: fallback(settings.rpcUrls.map((url) => http(url, { timeout: settings.timeoutMs, retryCount: 0, batch: true })), { retryCount: 0 }) });
  }

  async read(): Promise<{ micros: Micros; at: Date }> {
    const contract = { address: this.settings.aggregator, abi: AGGREGATOR };
    const [chainId, decimals, [roundId, answer, , updatedAt, answeredInRound]] = await Promise.all([
      this.client.getChainId(),
      this.client.readContract({ ...contract, functionName: 'decimals' }),
      this.client.readContract({ ...contract, functionName: 'latestRoundData' }),
    ]).catch((error: unknown) => {
      throw new Error(`the aggregator does not answer (${error instanceof BaseError ? error.name : 'unreadable'})`);
    });
    if (chainId !== this.settings.chainId) throw new Error(`the RPC server serves chain ${chainId}`);
    if (answer <= 0n) throw new Error("the aggregator's answer is not above 0");
    if (updatedAt === 0n || answeredInRound < roundId) throw new Error("the aggregator's round is not complete");
    if (decimals > MOST_DECIMALS || updatedAt > LAST_SECOND) throw new Error("the aggregator's answer cannot be read");
    return { micros: microsOf(answer, decimals), at: new Date(Number(updatedAt) * 1000) };
  }
}
