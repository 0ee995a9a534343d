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
import { chainsOf } from '../rails/x402/x402-settings.js';

const abi = parseAbi([
  'event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
]);

interface Wanted {
  transaction: Hash;
  /** Any where it is left out. */
  from?: Address;
  to: Address;
  /** In micros, which are the base units of USDC. */
  atLeast: bigint;
  since: Date;
}

/** Plain transfers of USDC, as the first RPC server of their chain knows them. */
@Injectable()
export class TransfersOnChain {
  private readonly chains: Map<string, { server: PublicClient; usdc: Address; chainId: number; network: string }>;

  constructor(@Inject(paymentsLedgerConfig.token) config: PaymentsLedgerConfig) {
    const { x402Chains, x402Usdc, x402RpcTimeoutMs: timeout } = config;
    this.chains = new Map(
      chainsOf(x402Chains ?? new Map<string, string[]>(), x402Usdc)
        .filter(({ rpcUrls }) => rpcUrls.length > 0)
        .map(({ network, rpcUrls: [url], usdc, chainId }) => [
          network,
          { server: createPublicClient({ transport: http(url, { timeout, retryCount: 1 }) }), usdc, chainId, network },
        ]),
    );
  }

  /**
   * The log indexes of the transfers in one transaction that are as wanted. What an authorization moved paid for something else.
   * @throws UnavailableError where the server does not tell.
   */
  async find(network: string, wanted: Wanted): Promise<number[] | 'unknown_chain' | 'not_final'> {
    const chain = this.chains.get(network);
    if (!chain) return 'unknown_chain';
    try {
      return await timed('rpc', 'transfer', () => this.ask(chain, wanted));
    } catch (error) {
      throw new UnavailableError(`the RPC server of ${network}`, { cause: error });
    }
  }

  private async ask(
    { server, usdc, chainId, network }: { server: PublicClient; usdc: Address; chainId: number; network: string },
    { transaction, from, to, atLeast, since }: Wanted,
  ): Promise<number[] | 'not_final'> {
    const receipt = await receiptOf(server, transaction, { chainId, network });
    if (!receipt || receipt.status !== 'success') return [];
    const ofUsdc = receipt.logs.filter(({ address }) => isAddressEqual(address, usdc));
    const authorized = new Set(
      parseEventLogs({ abi, eventName: 'AuthorizationUsed', logs: ofUsdc }).map(({ logIndex }) => logIndex + 1),
    );
    const transfers = parseEventLogs({ abi, eventName: 'Transfer', logs: ofUsdc }).filter(
      ({ args, logIndex }) =>
        isAddressEqual(args.to, to) &&
        (from === undefined || isAddressEqual(args.from, from)) &&
        args.value >= atLeast &&
        !authorized.has(logIndex),
    );
    if (transfers.length === 0) return [];
    const [final, block] = await Promise.all([
      server.getBlock({ blockTag: 'finalized' }),
      server.getBlock({ blockNumber: receipt.blockNumber }),
    ]);
    // Blocks have whole seconds.
    if (block.timestamp < BigInt(Math.floor(since.getTime() / 1_000))) return [];
    return final.number < receipt.blockNumber ? 'not_final' : transfers.map(({ logIndex }) => logIndex);
  }
}
