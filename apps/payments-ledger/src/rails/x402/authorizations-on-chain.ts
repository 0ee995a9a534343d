import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import {
  createPublicClient,
  http,
  isAddressEqual,
  parseAbi,
  parseEventLogs,
  type Address,
  TransactionReceiptNotFoundError,
  type Hash,
  type PublicClient,
  type TransactionReceipt,
} from 'viem';
import { timed } from '../metrics.js';
import type { ExactRequirements } from './exact-payment.js';
import {
  TransactionNotFoundError,
  type HeldAuthorization,
  type Settlement,
  type SettlementWitness,
} from './facilitator.js';
import type { X402Chain } from './x402-settings.js';

/**
 * Events of EIP-3009 and ERC-20 as USDC emits them: the use of an authorization is logged immediately before its
 * transfer. Source: FiatTokenV2_2 of github.com/circlefin/stablecoin-evm.
 */
const abi = parseAbi([
  'function balanceOf(address owner) view returns (uint256)',
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
  'event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)',
  'event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
]);
const RECEIPT_POLL_MS = 250;
const SPENT_ELSEWHERE: Settlement = { settled: false, reason: 'invalid_exact_evm_nonce_already_used' };
/** The maximum that public RPC servers allow in one request for logs. */
const BLOCKS_PER_LOG_REQUEST = 1_000n;
/** Two weeks of two-second blocks. */
const MAX_LOG_REQUESTS = 600;

/**
 * Reads the outcome of signed authorizations from one chain, through one or two RPC servers. If a server is down, lags
 * behind, serves another chain or contradicts the other, the outcome stays unknown.
 */
export class AuthorizationsOnChain implements SettlementWitness {
  private readonly servers: PublicClient[];

  constructor(
    private readonly chain: X402Chain,
    private readonly requestTimeoutMs: number,
  ) {
    this.servers = chain.rpcUrls.map((url) =>
      createPublicClient({ transport: http(url, { timeout: requestTimeoutMs, retryCount: 1, batch: true }) }),
    );
  }

  /**
   * Settled if a block contains the use and its transfer; refused if the authorization can never be settled any more;
   * otherwise null.
   */
  async settlementOf(authorization: HeldAuthorization, requirements: ExactRequirements): Promise<Settlement | null> {
    if (this.servers.length === 0) throw new Error(`no RPC server of ${this.chain.network} is configured`);
    const [first, ...others] = await Promise.all(
      this.servers.map((server) => timed('rpc', 'settlement', () => this.ask(server, authorization, requirements))),
    );
    return others.every((other) => isDeepStrictEqual(other, first)) ? first! : null;
  }

  async isSettledBy(
    transactionHash: string,
    authorization: HeldAuthorization,
    requirements: ExactRequirements,
  ): Promise<boolean> {
    const [server] = this.servers;
    if (!server) return true;
    for (const until = Date.now() + this.requestTimeoutMs; ;) {
      const receipt = await server.getTransactionReceipt({ hash: transactionHash as Hash }).catch((error: unknown) => {
        if (!(error instanceof TransactionReceiptNotFoundError)) throw error;
        if (Date.now() >= until) throw new TransactionNotFoundError(transactionHash, this.chain.network);
        return undefined;
      });
      if (receipt) return pays(receipt, authorization, requirements);
      await delay(RECEIPT_POLL_MS);
    }
  }

  isWatched(): boolean {
    return this.servers.length > 0;
  }

  /** Also true if the payer has cancelled the authorization. */
  async isUsed({ payer, nonce }: HeldAuthorization, { asset }: ExactRequirements): Promise<boolean> {
    const [server] = this.servers;
    return server
      ? timed('rpc', 'authorization', () =>
          server.readContract({
            address: asset as Address,
            abi,
            functionName: 'authorizationState',
            args: [payer as Address, nonce as Hash],
          }),
        )
      : false;
  }

  async balanceOf(payer: string, { asset }: ExactRequirements): Promise<bigint> {
    const [server] = this.servers;
    if (!server) throw new Error(`no RPC server of ${this.chain.network} is configured`);
    return timed('rpc', 'balance', () =>
      server.readContract({ address: asset as Address, abi, functionName: 'balanceOf', args: [payer as Address] }),
    );
  }

  private async ask(
    server: PublicClient,
    { payer, nonce, validBefore, heldAt }: HeldAuthorization,
    requirements: ExactRequirements,
  ): Promise<Settlement | null> {
    const { chainId, network } = this.chain;
    const serves = await server.getChainId();
    if (serves !== chainId) throw new Error(`the RPC server for ${network} serves chain ${serves}`);
    // The final block is read first. A block later than the authorization's end cannot use it, so an authorization that
    // is unused after such a block stays unused.
    const final = await server.getBlock({ blockTag: 'finalized' });
    const isSpent = await server.readContract({
      address: requirements.asset as Address,
      abi,
      functionName: 'authorizationState',
      args: [payer as Address, nonce as Hash],
    });
    const isOver = final.timestamp >= validBefore;
    if (!isSpent) return isOver ? { settled: false, reason: 'authorization_expired' } : null;
    const outcome = await this.outcomeOf(server, { payer, nonce, heldAt }, requirements);
    return outcome.settled || isOver ? outcome : null;
  }

  /**
   * Returns what the authorization was spent on: its amount for its recipient, something else, or nothing if its payer
   * cancelled it.
   * @throws Error if no log shows it.
   */
  private async outcomeOf(
    server: PublicClient,
    { payer, nonce, heldAt }: Pick<HeldAuthorization, 'payer' | 'nonce' | 'heldAt'>,
    requirements: ExactRequirements,
  ): Promise<Settlement> {
    let last = await server.getBlockNumber({ cacheTime: 0 });
    for (let requests = 0; requests < MAX_LOG_REQUESTS; requests += 1) {
      const first = last < BLOCKS_PER_LOG_REQUEST ? 0n : last - BLOCKS_PER_LOG_REQUEST + 1n;
      const range = {
        address: requirements.asset as Address,
        args: { authorizer: payer as Address, nonce: nonce as Hash },
        fromBlock: first,
        toBlock: last,
        strict: true,
      } as const;
      const [[used], [cancelled], oldest] = await Promise.all([
        server.getLogs({ ...range, event: abi[2] }),
        server.getLogs({ ...range, event: abi[3] }),
        server.getBlock({ blockNumber: first }),
      ]);
      if (used) {
        const receipt = await server.getTransactionReceipt({ hash: used.transactionHash });
        return pays(receipt, { payer, nonce }, requirements)
          ? { settled: true, transactionHash: used.transactionHash }
          : SPENT_ELSEWHERE;
      }
      if (cancelled) return SPENT_ELSEWHERE;
      if (first === 0n || Number(oldest.timestamp) * 1_000 < heldAt.getTime()) break;
      last = first - 1n;
    }
    throw new Error(`an authorization is spent on ${this.chain.network}, and no log since it was held says for what`);
  }
}

/** What identifies an authorization of a token. */
export type AuthorizationKey = Pick<HeldAuthorization, 'payer' | 'nonce'>;

/** The log in which the token says that the authorization was used. */
export function useOf(logs: TransactionReceipt['logs'], { payer, nonce }: AuthorizationKey, asset: Address) {
  const ofAsset = logs.filter(({ address }) => isAddressEqual(address, asset));
  return parseEventLogs({ abi, eventName: 'AuthorizationUsed', logs: ofAsset }).find(
    ({ args }) => isAddressEqual(args.authorizer, payer as Address) && args.nonce.toLowerCase() === nonce.toLowerCase(),
  );
}

/** Whether a transaction used the authorization for its amount and its recipient. */
function pays(
  { status, logs }: TransactionReceipt,
  { payer, nonce }: AuthorizationKey,
  { asset, payTo, amount }: ExactRequirements,
): boolean {
  const used = useOf(logs, { payer, nonce }, asset as Address);
  // Only the next log counts, because other logs of the transaction may belong to another authorization.
  const [transfer] = parseEventLogs({
    abi,
    eventName: 'Transfer',
    logs: logs.filter(
      ({ address, logIndex }) => used && logIndex === used.logIndex + 1 && isAddressEqual(address, asset as Address),
    ),
  });
  return (
    status === 'success' &&
    transfer !== undefined &&
    isAddressEqual(transfer.args.from, payer as Address) &&
    isAddressEqual(transfer.args.to, payTo as Address) &&
    transfer.args.value === BigInt(amount)
  );
}
