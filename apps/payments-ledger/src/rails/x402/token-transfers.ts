import { sql, type Tx } from '@market/persistence';
import { isDeepStrictEqual } from 'node:util';
import {
  createPublicClient,
  http,
  isAddressEqual,
  parseAbi,
  parseEventLogs,
  TransactionReceiptNotFoundError,
  type Address,
  type Hash,
  type PublicClient,
  type TransactionReceipt,
} from 'viem';
import type { X402Chain } from './x402-settings.js';

const abi = parseAbi(['event Transfer(address indexed from, address indexed to, uint256 value)']);

const lock = sql('transfers.lock', 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))');

/**
 * Locks a transaction until the commit, because each of its transfers is either a payout or a refund and never both.
 */
export const lockTransaction = async (tx: Tx, transaction: string): Promise<void> => {
  await tx.query(lock, [transaction]);
};

/** Returns the canonical spelling of a transaction id: hex is case-insensitive, a signature of Solana is not. */
export const transactionIdOf = (text: string): string => (text.startsWith('0x') ? text.toLowerCase() : text);

/** A transfer of USDC as its contract logged it. */
export interface TokenTransfer {
  from: Address;
  to: Address;
  baseUnits: bigint;
  logIndex: number;
}

/** The state of a transaction on its chain: `unknown`, `reverted`, `not_final`, or `final` with its transfers. */
export type TransactionTransfers =
  { state: 'unknown' | 'reverted' | 'not_final' } | { state: 'final'; transfers: TokenTransfer[] };

/**
 * Returns all transfers of USDC in one transaction of any sender: a plain transfer, or a batch of a contract wallet.
 * @throws Error if no RPC server is configured, or if one is unavailable, serves another chain or contradicts the
 * other.
 */
export async function transfersIn(
  transaction: Hash,
  chain: X402Chain,
  requestTimeoutMs: number,
): Promise<TransactionTransfers> {
  if (chain.rpcUrls.length === 0) throw new Error(`no RPC server of ${chain.network} is configured`);
  const [first, ...others] = await Promise.all(
    chain.rpcUrls.map((url) =>
      ask(
        createPublicClient({ transport: http(url, { timeout: requestTimeoutMs, retryCount: 1 }) }),
        transaction,
        chain,
      ),
    ),
  );
  if (!others.every((other) => isDeepStrictEqual(other, first)))
    throw new Error(`the RPC servers of ${chain.network} contradict each other`);
  return first!;
}

/**
 * Returns the receipt of a transaction; null while no block contains it.
 * @throws Error if the server is unavailable or serves another chain.
 */
export async function receiptOf(
  server: PublicClient,
  hash: Hash,
  { chainId, network }: Pick<X402Chain, 'chainId' | 'network'>,
): Promise<TransactionReceipt | null> {
  const serves = await server.getChainId();
  if (serves !== chainId) throw new Error(`the RPC server for ${network} serves chain ${serves}`);
  return server.getTransactionReceipt({ hash }).catch((error: unknown) => {
    if (error instanceof TransactionReceiptNotFoundError) return null;
    throw error;
  });
}

async function ask(
  server: PublicClient,
  hash: Hash,
  { chainId, network, usdc }: X402Chain,
): Promise<TransactionTransfers> {
  const final = await server.getBlock({ blockTag: 'finalized' });
  const receipt = await receiptOf(server, hash, { chainId, network });
  if (!receipt) return { state: 'unknown' };
  if (receipt.status !== 'success') return { state: 'reverted' };
  if (receipt.blockNumber > final.number) return { state: 'not_final' };
  const logs = receipt.logs.filter(({ address }) => isAddressEqual(address, usdc));
  return {
    state: 'final',
    transfers: parseEventLogs({ abi, eventName: 'Transfer', logs }).map(({ args, logIndex }) => ({
      from: args.from,
      to: args.to,
      baseUnits: args.value,
      logIndex,
    })),
  };
}
