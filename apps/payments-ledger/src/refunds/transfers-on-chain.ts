import { UnavailableError } from '@market/kernel';
import { Inject, Injectable } from '@nestjs/common';
import {
  createPublicClient,
  http,
  isAddressEqual,
  parseAbi,
  parseEventLogs,
  type Address,
  type Hash,
  type PublicClient,
} from 'viem';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { timed } from '../rails/metrics.js';
import { receiptOf } from '../rails/x402/token-transfers.js';
import { isSolana } from '../rails/x402/exact-payment.js';
import { evmChainsOf, solanaChainsOf } from '../rails/x402/x402-settings.js';
import type { WantedTransfer } from './refund.js';
import { TransfersOnSolana } from './transfers-on-solana.js';

const abi = parseAbi([
  'event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
]);

/** Reads plain transfers of USDC from the first RPC server of each chain. */
@Injectable()
export class TransfersOnChain {
  private readonly chains: Map<string, { server: PublicClient; usdc: Address; chainId: number; network: string }>;
  private readonly clusters: Map<string, TransfersOnSolana>;

  constructor(@Inject(paymentsLedgerConfig.token) config: PaymentsLedgerConfig) {
    const { x402Chains, x402Usdc, x402RpcTimeoutMs: timeout } = config;
    this.chains = new Map(
      evmChainsOf(x402Chains ?? new Map<string, string[]>(), x402Usdc)
        .filter(({ rpcUrls }) => rpcUrls.length > 0)
        .map(({ network, rpcUrls: [url], usdc, chainId }) => [
          network,
          { server: createPublicClient({ transport: http(url, { timeout, retryCount: 1 }) }), usdc, chainId, network },
        ]),
    );
    this.clusters = new Map(
      solanaChainsOf(x402Chains ?? new Map<string, string[]>())
        .filter(({ rpcUrls }) => rpcUrls.length > 0)
        .map((chain) => [chain.network, new TransfersOnSolana(chain, timeout)]),
    );
  }

  /**
   * Returns the log indexes of the wanted transfers in one transaction (on Solana the indexes of the accounts that it
   * credited). Transfers by authorization are excluded, because they paid for something else.
   * @throws UnavailableError if the server gives no answer.
   */
  async find(network: string, wanted: WantedTransfer): Promise<number[] | 'unknown_chain' | 'not_final'> {
    const [chain, cluster] = [this.chains.get(network), this.clusters.get(network)];
    if (!chain && !cluster) return 'unknown_chain';
    if (isSolana(network) === wanted.transaction.startsWith('0x')) return [];
    try {
      return await timed('rpc', 'transfer', () => (chain ? this.ask(chain, wanted) : cluster!.find(wanted)));
    } catch (error) {
      throw new UnavailableError(`the RPC server of ${network}`, { cause: error });
    }
  }

  private async ask(
    { server, usdc, chainId, network }: { server: PublicClient; usdc: Address; chainId: number; network: string },
    { transaction, from, to, atLeast, since }: WantedTransfer,
  ): Promise<number[] | 'not_final'> {
    const receipt = await receiptOf(server, transaction as Hash, { chainId, network });
    if (!receipt || receipt.status !== 'success') return [];
    const ofUsdc = receipt.logs.filter(({ address }) => isAddressEqual(address, usdc));
    const authorized = new Set(
      parseEventLogs({ abi, eventName: 'AuthorizationUsed', logs: ofUsdc }).map(({ logIndex }) => logIndex + 1),
    );
    const transfers = parseEventLogs({ abi, eventName: 'Transfer', logs: ofUsdc }).filter(
      ({ args, logIndex }) =>
        isAddressEqual(args.to, to as Address) &&
        (from === undefined || isAddressEqual(args.from, from as Address)) &&
        args.value >= atLeast &&
        !authorized.has(logIndex),
    );
    if (transfers.length === 0) return [];
    const [final, block] = await Promise.all([
      server.getBlock({ blockTag: 'finalized' }),
      server.getBlock({ blockNumber: receipt.blockNumber }),
    ]);
    // The timestamps of blocks are whole seconds.
    if (block.timestamp < BigInt(Math.floor(since.getTime() / 1_000))) return [];
    return final.number < receipt.blockNumber ? 'not_final' : transfers.map(({ logIndex }) => logIndex);
  }
}
