import { createSolanaRpc, type Signature } from '@solana/kit';
import type { SolanaChain } from '../rails/x402/x402-settings.js';
import type { WantedTransfer } from './refund.js';

/** The balance of a token account before or after a transaction. */
interface TokenBalance {
  accountIndex: number;
  mint: string;
  owner?: string;
  uiTokenAmount: { amount: string };
}

/** Reads transfers of USDC on one cluster of Solana from its first RPC server. */
export class TransfersOnSolana {
  private readonly server: ReturnType<typeof createSolanaRpc>;

  constructor(
    private readonly chain: SolanaChain,
    private readonly requestTimeoutMs: number,
  ) {
    this.server = createSolanaRpc(chain.rpcUrls[0]!);
  }

  /**
   * Returns the indexes of the token accounts of `to` that this transaction credited. The account that sent the money
   * must also have paid the fee. This excludes signed payments of x402, which paid for something else.
   */
  async find({ transaction, from, to, atLeast, since }: WantedTransfer): Promise<number[] | 'not_final'> {
    const abortSignal = AbortSignal.timeout(this.requestTimeoutMs);
    const read = (commitment: 'confirmed' | 'finalized') =>
      this.server
        .getTransaction(transaction as Signature, { commitment, encoding: 'json', maxSupportedTransactionVersion: 0 })
        .send({ abortSignal });
    const found = await read('confirmed');
    if (!found?.meta || found.meta.err !== null) return [];
    const sender = found.transaction.message.accountKeys[0]!;
    if (from !== undefined && from !== sender) return [];
    const changes = this.changes(found.meta.preTokenBalances ?? [], found.meta.postTokenBalances ?? []);
    const credited = changes.filter(({ owner, change }) => owner === to && change >= atLeast);
    const isSent = changes.some(({ owner, change }) => owner === sender && -change >= atLeast);
    if (credited.length === 0 || !isSent) return [];
    if (Number(found.blockTime ?? 0) < Math.floor(since.getTime() / 1_000)) return [];
    return (await read('finalized')) === null ? 'not_final' : credited.map(({ accountIndex }) => accountIndex);
  }

  private changes(
    before: readonly TokenBalance[],
    after: readonly TokenBalance[],
  ): { owner: string | undefined; accountIndex: number; change: bigint }[] {
    const amountOf = (balances: readonly TokenBalance[], index: number): bigint =>
      BigInt(balances.find(({ accountIndex }) => accountIndex === index)?.uiTokenAmount.amount ?? 0);
    const accounts = new Map([...before, ...after].map((balance) => [balance.accountIndex, balance]));
    return [...accounts.values()]
      .filter(({ mint }) => mint === this.chain.usdc)
      .map(({ owner, accountIndex }) => ({
        owner,
        accountIndex,
        change: amountOf(after, accountIndex) - amountOf(before, accountIndex),
      }));
  }
}
