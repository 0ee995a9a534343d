import { createSolanaRpc, isAddress, isSignature, type Address, type Commitment, type PendingRpcRequest, type Rpc, type Signature, type SolanaRpcApi } from '@solana/kit';
import { z } from 'zod';

const CLOCK = 'SysvarC1ock11111111111111111111111111111111' as Address;
/** Where its time is in the clock's data, in seconds. Source: docs.rs/solana-clock, `Clock`. */
const UNIX_TIMESTAMP_AT = 32;
/** Newer ones are refused by servers that are asked for less. */
const NEWEST_TRANSACTION_VERSION = 1;

const BASE58 = /^[1-9A-HJ-NP-Za-km-z]+$/;

const keyText = z.string().refine(isAddress) as unknown as z.ZodType<Address>;
/** The library throws at what is not base58. */
const signatureText = z.string().refine((text) => BASE58.test(text) && isSignature(text)) as unknown as z.ZodType<Signature>;
const account = z.object({ lamports: z.bigint(), owner: keyText, data: z.tuple([z.base64(), z.literal('base64')]).transform(([data]) => Buffer.from(data, 'base64')) });
const state = z.object({ context: z.object({ slot: z.bigint() }), value: z.tuple([account, account.nullable()]) });
const signatures = z.array(z.object({ signature: signatureText, slot: z.bigint() }));
const tokenBalances = z.array(z.object({ accountIndex: z.number(), mint: keyText, uiTokenAmount: z.object({ amount: z.string().regex(/^\d+$/).transform(BigInt) }) }));
const instruction = z.object({ programIdIndex: z.number(), accounts: z.array(z.number()), data: z.string() });
const loadedAddresses = z.object({ writable: z.array(keyText), readonly: z.array(keyText) });
const transaction = z.object({
  transaction: z.object({ message: z.object({ accountKeys: z.array(keyText), instructions: z.array(instruction) }) }),
  meta: z.object({
    err: z.unknown(),
    preBalances: z.array(z.bigint()),
    postBalances: z.array(z.bigint()),
    preTokenBalances: tokenBalances,
    postTokenBalances: tokenBalances,
    innerInstructions: z.array(z.object({ instructions: z.array(instruction) })),
    loadedAddresses: loadedAddresses.default({ writable: [], readonly: [] }),
  }),
});

export type Account = z.output<typeof account>;
export type SolanaTransaction = z.output<typeof transaction>;

/** An account in one state of the chain, and that state's time. */
export interface AccountState {
  slot: bigint;
  unixSeconds: bigint;
  account: Account | null;
}

/** One RPC server. Its answers are what they should be or an error; an answer with a part missing is none. */
export class SolanaServer {
  private readonly rpc: Rpc<SolanaRpcApi>;

  constructor(
    url: string,
    private readonly timeoutMs: number,
  ) {
    this.rpc = createSolanaRpc(url);
  }

  genesisHash(): Promise<string> {
    return this.ask('getGenesisHash', this.rpc.getGenesisHash(), z.string());
  }

  async state(address: Address, commitment: Commitment): Promise<AccountState> {
    const { context, value } = await this.ask('getMultipleAccounts', this.rpc.getMultipleAccounts([CLOCK, address], { commitment, encoding: 'base64' }), state);
    return { slot: context.slot, unixSeconds: value[0].data.readBigInt64LE(UNIX_TIMESTAMP_AT), account: value[1] };
  }

  /** Transactions that name the address, newest first. */
  signatures(address: Address, commitment: Exclude<Commitment, 'processed'>, limit: number): Promise<z.output<typeof signatures>> {
    return this.ask('getSignaturesForAddress', this.rpc.getSignaturesForAddress(address, { commitment, limit }), signatures);
  }

  transaction(signature: Signature): Promise<SolanaTransaction> {
    return this.ask('getTransaction', this.rpc.getTransaction(signature, { commitment: 'finalized', encoding: 'json', maxSupportedTransactionVersion: NEWEST_TRANSACTION_VERSION }), transaction);
  }

  /** Least lamports that an address without data may hold. */
  leastBalance(): Promise<bigint> {
    return this.ask('getMinimumBalanceForRentExemption', this.rpc.getMinimumBalanceForRentExemption(0n), z.bigint());
  }

  private async ask<T>(method: string, request: PendingRpcRequest<unknown>, answer: z.ZodType<T>): Promise<T> {
    const parsed = answer.safeParse(await request.send({ abortSignal: AbortSignal.timeout(this.timeoutMs) }));
    if (!parsed.success) throw new Error(`an RPC server answered ${method} with something else, or with a part of it`);
    return parsed.data;
  }
}
