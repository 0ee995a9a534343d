import { createPublicClient, erc20Abi, http, isAddressEqual, parseAbiItem, type Address, type BlockTag, type Hash, type PublicClient } from 'viem';
import type { EvmChainSettings } from './evm-settings.js';

/** What had arrived at an address at one block, and the transaction that brought the last of it where the chain tells. */
export interface Holdings {
  baseUnits: bigint;
  transactionHash: Hash | null;
}

interface Height {
  number: bigint;
  hash: Hash;
}

export interface ChainLimits {
  requestTimeoutMs: number;
  /** A newest block older than this is a node that stands still. */
  maxHeadAgeSeconds: number;
}

const TRANSFER = parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 value)');
/** What public RPC servers allow in one request for logs. */
const BLOCKS_A_LOG_REQUEST = 1_000n;
/** Two weeks of two-second blocks. */
const MOST_LOG_REQUESTS = 600;

/**
 * One EVM chain through one or two RPC servers. What is not certain throws, and the payment stays as it is: another chain
 * behind the URL, a node that stands still, two servers that disagree.
 */
export class EvmChain {
  private readonly servers: PublicClient[];

  constructor(
    private readonly settings: EvmChainSettings,
    private readonly limits: ChainLimits,
  ) {
    this.servers = settings.rpcUrls.map((url) => createPublicClient({ transport: http(url, { timeout: limits.requestTimeoutMs, retryCount: 1, batch: true }) }));
  }

  /** What has arrived at `address` and is as final as `tag` says, and what its newest block shows beyond that. */
  async arrived(address: Address, token: Address | null, tag: BlockTag, since: Date): Promise<Holdings & { arriving: boolean }> {
    const height = await this.commonHeight(tag);
    const [first, ...others] = await Promise.all(this.servers.map((server) => (token ? tokenArrived(server, token, address, height, since) : coinArrived(server, address, height))));
    if (others.some(({ baseUnits }) => baseUnits !== first!.baseUnits)) throw new Error(`the RPC servers of ${this.settings.network} disagree about what arrived`);
    const newest = await Promise.all(this.servers.map((server) => balanceAt(server, token, address, undefined)));
    const settled = await balanceAt(this.servers[0]!, token, address, height.number);
    return { ...first!, arriving: newest.some((balance) => balance > settled) };
  }

  /** What lies at `address` in the newest block of the first server. */
  balance(address: Address, token: Address | null): Promise<bigint> {
    return balanceAt(this.servers[0]!, token, address, undefined);
  }

  /** The highest block with that tag that every server has, the same on each. */
  private async commonHeight(tag: BlockTag): Promise<Height> {
    const heights = await Promise.all(this.servers.map((server) => this.heightAt(server, tag)));
    const lowest = heights.reduce((low, height) => (height.number < low.number ? height : low));
    const blocks = await Promise.all(this.servers.map((server, index) => (heights[index]!.number === lowest.number ? heights[index]! : server.getBlock({ blockNumber: lowest.number }))));
    if (blocks.some(({ hash }) => hash !== lowest.hash)) throw new Error(`the RPC servers of ${this.settings.network} disagree about block ${lowest.number}`);
    return lowest;
  }

  private async heightAt(server: PublicClient, tag: BlockTag): Promise<Height> {
    const [chainId, newest, block] = await Promise.all([server.getChainId(), server.getBlock(), server.getBlock({ blockTag: tag })]);
    if (chainId !== this.settings.chainId) throw new Error(`the RPC server for ${this.settings.network} serves chain ${chainId}`);
    const ageSeconds = Math.floor(Date.now() / 1000) - Number(newest.timestamp);
    if (ageSeconds > this.limits.maxHeadAgeSeconds) throw new Error(`the RPC server of ${this.settings.network} stands still: its newest block is ${ageSeconds} s old`);
    if (block.number === null || block.hash === null) throw new Error(`the RPC server of ${this.settings.network} has no ${tag} block`);
    return { number: block.number, hash: block.hash };
  }
}

const balanceAt = (server: PublicClient, token: Address | null, address: Address, blockNumber: bigint | undefined): Promise<bigint> =>
  token ? server.readContract({ address: token, abi: erc20Abi, functionName: 'balanceOf', args: [address], blockNumber }) : server.getBalance({ address, blockNumber });

/**
 * The address is ours alone and new, so what it holds is what arrived, until its owner moves something out: then the chain's
 * own coin, which leaves no log, can no longer be counted.
 */
async function coinArrived(server: PublicClient, address: Address, { number }: Height): Promise<Holdings> {
  const [balance, sent] = await Promise.all([server.getBalance({ address, blockNumber: number }), server.getTransactionCount({ address, blockNumber: number })]);
  if (sent > 0) throw new Error(`the deposit address ${address} was swept; what it received is no longer told by its balance`);
  return { baseUnits: balance, transactionHash: balance === 0n ? null : await lastCoinTransfer(server, address, number, balance) };
}

/**
 * What the token says it moved there, and no more than the balance bears out: a token that moves less than it logs, or logs
 * what it did not move, is believed only as far as both agree.
 */
async function tokenArrived(server: PublicClient, token: Address, address: Address, { number }: Height, since: Date): Promise<Holdings> {
  const balance = await balanceAt(server, token, address, number);
  if (balance === 0n) {
    const sent = await server.getTransactionCount({ address, blockNumber: number });
    if (sent === 0) return { baseUnits: 0n, transactionHash: null };
  }
  let logged = 0n;
  let movedOut = 0n;
  let transactionHash: Hash | null = null;
  let last = number;
  for (let requests = 0; last >= 0n; requests += 1) {
    if (requests === MOST_LOG_REQUESTS) throw new Error(`what came to ${address} lies further back than ${MOST_LOG_REQUESTS} requests for logs reach`);
    const first = last < BLOCKS_A_LOG_REQUEST ? 0n : last - BLOCKS_A_LOG_REQUEST + 1n;
    const range = { address: token, event: TRANSFER, fromBlock: first, toBlock: last, strict: true } as const;
    const [incoming, outgoing, oldest] = await Promise.all([
      server.getLogs({ ...range, args: { to: address } }),
      server.getLogs({ ...range, args: { from: address } }),
      server.getBlock({ blockNumber: first }),
    ]);
    const real = incoming.filter((log) => isAddressEqual(log.address, token) && !log.removed);
    transactionHash ??= real.at(-1)?.transactionHash ?? null;
    logged += sum(real.map(({ args }) => args.value));
    movedOut += sum(outgoing.map(({ args }) => args.value));
    if (logged >= balance + movedOut && logged > 0n) break;
    if (Number(oldest.timestamp) * 1000 < since.getTime()) break;
    last = first - 1n;
  }
  const borneOut = balance + movedOut;
  return { baseUnits: logged < borneOut ? logged : borneOut, transactionHash };
}

/** Where the balance reached what it is: the block is searched for backwards and then between; null where a contract or a node without old state hides the transaction. */
async function lastCoinTransfer(server: PublicClient, address: Address, number: bigint, balance: bigint): Promise<Hash | null> {
  const reached = async (block: bigint): Promise<boolean> => (await server.getBalance({ address, blockNumber: block })) >= balance;
  try {
    let high = number;
    let step = 1n;
    let low = number;
    do {
      high = low;
      low = low > step ? low - step : 0n;
      step *= 2n;
    } while (low > 0n && (await reached(low)));
    while (high - low > 1n) {
      const middle = (low + high) / 2n;
      if (await reached(middle)) high = middle;
      else low = middle;
    }
    const block = await server.getBlock({ blockNumber: high, includeTransactions: true });
    return block.transactions.findLast(({ to, value }) => to !== null && isAddressEqual(to, address) && value > 0n)?.hash ?? null;
  } catch {
    return null;
  }
}

const sum = (values: bigint[]): bigint => values.reduce((total, value) => total + value, 0n);
