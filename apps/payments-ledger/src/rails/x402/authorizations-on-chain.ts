import { isSignedByContract } from '@market/evm';
import { PERMIT2_ADDRESS } from '@x402/evm';
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
  type Hex,
  type PublicClient,
  type TransactionReceipt,
} from 'viem';
import { timed } from '../metrics.js';
import { isByPermit2, type ExactRequirements } from './exact-payment.js';
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
/** A bit of each nonce of an owner that was used or taken back. Source: SignatureTransfer of github.com/Uniswap/permit2. */
const permit2Abi = parseAbi(['function nonceBitmap(address owner, uint256 word) view returns (uint256)']);
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
      if (receipt) return isPaidBy(server, receipt, authorization, requirements);
      await delay(RECEIPT_POLL_MS);
    }
  }

  isWatched(): boolean {
    return this.servers.length > 0;
  }

  /** Also true if the payer has cancelled the authorization. */
  async isUsed(held: HeldAuthorization, requirements: ExactRequirements): Promise<boolean> {
    const [server] = this.servers;
    return server ? timed('rpc', 'authorization', () => isSpent(server, held, requirements)) : false;
  }

  async isSignedBy(address: Address, hash: Hex, signature: string): Promise<boolean> {
    const server = this.firstServer();
    return timed('rpc', 'signature', () => isSignedByContract(server, address, hash, signature));
  }

  async balanceOf(payer: string, { asset }: ExactRequirements): Promise<bigint> {
    const server = this.firstServer();
    return timed('rpc', 'balance', () =>
      server.readContract({ address: asset as Address, abi, functionName: 'balanceOf', args: [payer as Address] }),
    );
  }

  private firstServer(): PublicClient {
    const [server] = this.servers;
    if (!server) throw new Error(`no RPC server of ${this.chain.network} is configured`);
    return server;
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
    const wasSpent = await isSpent(server, { payer, nonce }, requirements);
    const isOver = final.timestamp >= validBefore;
    if (!wasSpent) return isOver ? { settled: false, reason: 'authorization_expired' } : null;
    const spent = { payer, nonce, heldAt };
    const outcome = isByPermit2(requirements)
      ? await this.outcomeByPermit2(server, spent, requirements)
      : await this.outcomeOf(server, spent, requirements);
    return outcome.settled || isOver ? outcome : null;
  }

  /** The same of what was signed for Permit2. What no transfer since it was held shows was taken back, or paid somebody else. */
  private async outcomeByPermit2(
    server: PublicClient,
    { payer, nonce, heldAt }: Pick<HeldAuthorization, 'payer' | 'nonce' | 'heldAt'>,
    requirements: ExactRequirements,
  ): Promise<Settlement> {
    const args = { from: payer as Address, to: requirements.payTo as Address };
    let last = await server.getBlockNumber({ cacheTime: 0 });
    for (let requests = 0; requests < MAX_LOG_REQUESTS; requests += 1) {
      const first = last < BLOCKS_PER_LOG_REQUEST ? 0n : last - BLOCKS_PER_LOG_REQUEST + 1n;
      const range = {
        address: requirements.asset as Address,
        args,
        fromBlock: first,
        toBlock: last,
        strict: true,
      } as const;
      const [transfers, oldest] = await Promise.all([
        server.getLogs({ ...range, event: abi[4] }),
        server.getBlock({ blockNumber: first }),
      ]);
      for (const { transactionHash } of transfers) {
        const receipt = await server.getTransactionReceipt({ hash: transactionHash });
        if (await isPaidBy(server, receipt, { payer, nonce }, requirements)) return { settled: true, transactionHash };
      }
      if (first === 0n || Number(oldest.timestamp) * 1_000 < heldAt.getTime()) return SPENT_ELSEWHERE;
      last = first - 1n;
    }
    throw new Error(`a signature is spent on ${this.chain.network}, and its blocks since it was held are too many`);
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

async function isSpent(
  server: PublicClient,
  { payer, nonce }: AuthorizationKey,
  requirements: ExactRequirements,
): Promise<boolean> {
  const owner = payer as Address;
  if (isByPermit2(requirements)) {
    const address = PERMIT2_ADDRESS;
    const [word, bit] = [BigInt(nonce) >> 8n, BigInt(nonce) & 255n];
    const bits = await server.readContract({
      address,
      abi: permit2Abi,
      functionName: 'nonceBitmap',
      args: [owner, word],
    });
    return ((bits >> bit) & 1n) === 1n;
  }
  const address = requirements.asset as Address;
  return server.readContract({ address, abi, functionName: 'authorizationState', args: [owner, nonce as Hash] });
}

/** Whether a transaction moved the money of an authorization. Permit2 logs no use, so what was called says which it was. */
async function isPaidBy(
  server: PublicClient,
  receipt: TransactionReceipt,
  key: AuthorizationKey,
  requirements: ExactRequirements,
): Promise<boolean> {
  if (!isByPermit2(requirements)) return pays(receipt, key, requirements);
  const { asset, payTo, amount } = requirements;
  const moved = parseEventLogs({ abi, eventName: 'Transfer', logs: receipt.logs }).some(
    ({ address, args }) =>
      isAddressEqual(address, asset as Address) &&
      isAddressEqual(args.from, key.payer as Address) &&
      isAddressEqual(args.to, payTo as Address) &&
      args.value === BigInt(amount),
  );
  if (receipt.status !== 'success' || !moved) return false;
  const { input } = await server.getTransaction({ hash: receipt.transactionHash });
  const named = BigInt(key.nonce).toString(16).padStart(64, '0');
  return input.toLowerCase().includes(named) && input.toLowerCase().includes(key.payer.slice(2).toLowerCase());
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
