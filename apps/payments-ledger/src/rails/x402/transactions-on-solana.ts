import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { createSolanaRpc, type Address, type Blockhash, type Signature } from '@solana/kit';
import { timed } from '../metrics.js';
import { parsePayload, type ExactRequirements, type SolanaPayload } from './exact-payment.js';
import { readTransaction, tokenAccountOf, type SignedTransaction } from './exact-solana.js';
import {
  TransactionNotFoundError,
  type HeldAuthorization,
  type Settlement,
  type SettlementWitness,
} from './facilitator.js';
import type { SolanaChain } from './x402-settings.js';

type Server = ReturnType<typeof createSolanaRpc>;
type Commitment = 'confirmed' | 'finalized';

const POLL_MS = 250;
/** The maximum that an RPC server lists in one answer. */
const SIGNATURES_PER_REQUEST = 1_000;
const MAX_REQUESTS = 20;
/** Longer than 150 blocks take, even if they take half as long again as usual. */
const MIN_AGE_MS = 150_000;
/** The maximum difference between the clocks of the cluster and of this process. */
const CLOCK_MARGIN_MS = 10_000;

/**
 * Reads the outcome of signed transactions from a cluster of Solana, through one or two RPC servers. The cluster
 * processes a message at most once, so a transaction with the same message is the signed one, whichever signature of
 * the fee payer identifies it. If a server is down, lags behind, serves another cluster or contradicts the other, the
 * outcome stays unknown.
 */
export class TransactionsOnSolana implements SettlementWitness {
  private readonly servers: Server[];

  constructor(
    private readonly chain: SolanaChain,
    private readonly requestTimeoutMs: number,
  ) {
    this.servers = chain.rpcUrls.map((url) => createSolanaRpc(url));
  }

  /**
   * Settled if a confirmed block contains the transaction; refused if no block can contain it any more; otherwise null.
   */
  async settlementOf(held: HeldAuthorization, requirements: ExactRequirements): Promise<Settlement | null> {
    if (this.servers.length === 0) throw new Error(`no RPC server of ${this.chain.network} is configured`);
    const [first, ...others] = await Promise.all(
      this.servers.map((server) => timed('rpc', 'settlement', () => this.ask(server, held, requirements))),
    );
    return others.every((other) => isDeepStrictEqual(other, first)) ? first! : null;
  }

  async isSettledBy(transactionHash: string, held: HeldAuthorization): Promise<boolean> {
    const [server] = this.servers;
    if (!server) return true;
    const { messageBytes } = transactionOf(held);
    for (const until = Date.now() + this.requestTimeoutMs; ;) {
      const found = await this.read(server, transactionHash as Signature, 'confirmed');
      if (found) return found.succeeded && found.messageBytes.equals(messageBytes);
      if (Date.now() >= until) throw new TransactionNotFoundError(transactionHash, this.chain.network);
      await delay(POLL_MS);
    }
  }

  isWatched(): boolean {
    return this.servers.length > 0;
  }

  async isUsed(held: HeldAuthorization, requirements: ExactRequirements): Promise<boolean> {
    const [server] = this.servers;
    return server ? (await this.find(server, held, requirements, 'confirmed')) !== null : false;
  }

  async balanceOf(payer: string, { asset }: ExactRequirements): Promise<bigint> {
    const [server] = this.servers;
    if (!server) throw new Error(`no RPC server of ${this.chain.network} is configured`);
    const account = await tokenAccountOf(payer, asset);
    const { value } = await timed('rpc', 'balance', () =>
      server.getTokenAccountBalance(account, { commitment: 'confirmed' }).send(this.inTime()),
    );
    return BigInt(value.amount);
  }

  /**
   * Checks first whether the blockhash has expired. If no final block contains the transaction after that, none ever
   * will.
   */
  private async ask(
    server: Server,
    held: HeldAuthorization,
    requirements: ExactRequirements,
  ): Promise<Settlement | null> {
    const genesis = await server.getGenesisHash().send(this.inTime());
    if (!this.chain.network.endsWith(genesis.slice(0, 32)))
      throw new Error(`the RPC server for ${this.chain.network} serves the cluster ${genesis}`);
    const isOver = await this.isOver(server, held);
    const found = await this.find(server, held, requirements, isOver ? 'finalized' : 'confirmed');
    if (found?.succeeded) return { settled: true, transactionHash: found.signature };
    if (!isOver) return null;
    return { settled: false, reason: found ? 'invalid_exact_svm_transaction_failed' : 'authorization_expired' };
  }

  /**
   * Whether neither the newest nor the last final block accepts the blockhash. A server that does not have the
   * blockhash yet gives the same answer. The result is therefore false before `MIN_AGE_MS` has passed, and while the
   * last final block of the server is older than the authorization.
   */
  private async isOver(server: Server, held: HeldAuthorization): Promise<boolean> {
    const heldAt = held.heldAt.getTime();
    if (Date.now() < heldAt + MIN_AGE_MS) return false;
    const slot = await server.getSlot({ commitment: 'finalized' }).send(this.inTime());
    const seconds = await server.getBlockTime(slot).send(this.inTime());
    if (Number(seconds) * 1_000 < heldAt + CLOCK_MARGIN_MS) return false;
    const blockhash = transactionOf(held).blockhash as Blockhash;
    for (const commitment of ['confirmed', 'finalized'] as const) {
      const { value } = await server.isBlockhashValid(blockhash, { commitment }).send(this.inTime());
      if (value) return false;
    }
    return true;
  }

  /**
   * Finds the payer's transaction with this message among those since the authorization was held. Transactions with
   * another memo are skipped.
   */
  private async find(
    server: Server,
    held: HeldAuthorization,
    { extra: { relayRequestId } }: ExactRequirements,
    commitment: Commitment,
  ): Promise<{ signature: string; succeeded: boolean } | null> {
    const { messageBytes } = transactionOf(held);
    const since = held.heldAt.getTime() - CLOCK_MARGIN_MS;
    let before: Signature | undefined;
    for (let requests = 0; requests < MAX_REQUESTS; requests += 1) {
      const page = await server
        .getSignaturesForAddress(held.payer as Address, { limit: SIGNATURES_PER_REQUEST, before, commitment })
        .send(this.inTime());
      for (const { signature, memo } of page) {
        if (memo !== null && !memo.includes(relayRequestId)) continue;
        const found = await this.read(server, signature, commitment);
        if (found?.messageBytes.equals(messageBytes)) return { signature, succeeded: found.succeeded };
      }
      const last = page.at(-1);
      if (!last || page.length < SIGNATURES_PER_REQUEST || Number(last.blockTime ?? Infinity) * 1_000 < since)
        return null;
      before = last.signature;
    }
    throw new Error(`${held.payer} has too many transactions on ${this.chain.network} to find one`);
  }

  private async read(
    server: Server,
    signature: Signature,
    commitment: Commitment,
  ): Promise<{ messageBytes: Buffer; succeeded: boolean } | null> {
    const found = await server
      .getTransaction(signature, { commitment, encoding: 'base64', maxSupportedTransactionVersion: 0 })
      .send(this.inTime());
    const transaction = found && readTransaction(found.transaction[0]);
    return transaction && { messageBytes: transaction.messageBytes, succeeded: found.meta?.err === null };
  }

  private inTime(): { abortSignal: AbortSignal } {
    return { abortSignal: AbortSignal.timeout(this.requestTimeoutMs) };
  }
}

/** Returns the signed transaction. It was valid when it was held. */
function transactionOf({ text }: HeldAuthorization): SignedTransaction {
  const payload = parsePayload(text)?.payload as SolanaPayload | undefined;
  const transaction = payload && readTransaction(payload.transaction);
  if (!transaction) throw new Error('what is held is no transaction of Solana');
  return transaction;
}
