import { randomBytes } from 'node:crypto';
import { getAddressDecoder, getBase58Decoder, getCompiledTransactionMessageDecoder, getTransactionDecoder, type Address, type Signature, type Transaction } from '@solana/kit';
import { FailedTransactionMetadata, LiteSVM, type TransactionMetadata } from 'litesvm';

export type Commitment = 'processed' | 'confirmed' | 'finalized';

export interface Account {
  lamports: bigint;
  owner: Address;
  data: Uint8Array;
}

interface TokenBalance {
  accountIndex: number;
  mint: Address;
  owner: Address;
  programId: Address;
  uiTokenAmount: { amount: string; decimals: number; uiAmount: null; uiAmountString: string };
}

/** A transaction that is in a block, as `getTransaction` tells it. */
export interface LandedTransaction {
  signature: Signature;
  slot: bigint;
  unixSeconds: number;
  wire: Uint8Array;
  /** Static ones, then those that lookup tables brought. */
  keys: Address[];
  staticKeys: Address[];
  loadedAddresses: { writable: Address[]; readonly: Address[] };
  instructions: { programIdIndex: number; accounts: number[]; data: string }[];
  innerInstructions: { index: number; instructions: { programIdIndex: number; accounts: number[]; data: string; stackHeight: number }[] }[];
  err: string | null;
  logs: string[];
  preBalances: bigint[];
  postBalances: bigint[];
  preTokenBalances: TokenBalance[];
  postTokenBalances: TokenBalance[];
}

interface CompiledMessage {
  staticAccounts: Address[];
  lifetimeToken: string;
  addressTableLookups?: { lookupTableAddress: Address; writableIndexes: number[]; readonlyIndexes: number[] }[];
  instructions: { programAddressIndex: number; accountIndices?: number[]; data?: Uint8Array }[];
}

const CLOCK = 'SysvarC1ock11111111111111111111111111111111' as Address;
const CLOCK_TIME_AT = 32;
const TOKEN_PROGRAMS: readonly string[] = ['TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA', 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb'];
const TOKEN_ACCOUNT_BYTES = 165;
/** Behind the base account Token-2022 says what it is. */
const TOKEN_ACCOUNT_TYPE = 2;
const [TABLE_HEAD_BYTES, KEY_BYTES] = [56, 32];
/** For how many slots a blockhash is good. */
const BLOCKHASHES = 150;

const base58 = (bytes: Uint8Array): string => getBase58Decoder().decode(bytes);
const keyAt = (data: Uint8Array, offset: number): Address => getAddressDecoder().decode(data, offset);

/** One chain in three states, as final as their names say: litesvm runs what comes in the newest, and the others are what that once was. */
export class SolanaStates {
  readonly genesisHash = base58(randomBytes(32));
  private readonly states: Record<Commitment, LiteSVM>;
  private readonly slots: Record<Commitment, bigint>;
  private readonly blockhashes: string[] = [];
  private landed: LandedTransaction[] = [];

  /** @param faucet has a million SOL from the beginning. */
  constructor(faucet: Address) {
    const newest = new LiteSVM().withBlockhashCheck(false).withLamports(10n ** 16n);
    newest.airdrop(faucet, 10n ** 15n as never);
    this.states = { processed: newest, confirmed: copyOf(newest), finalized: copyOf(newest) };
    this.blockhashes.push(newest.latestBlockhash());
    const { slot } = newest.getClock();
    this.slots = { processed: slot, confirmed: slot, finalized: slot };
  }

  /** Makes what is newest as final as that. */
  settle(commitment: Exclude<Commitment, 'processed'>): void {
    const reached: Commitment[] = commitment === 'finalized' ? ['confirmed', 'finalized'] : ['confirmed'];
    for (const state of reached) [this.states[state], this.slots[state]] = [copyOf(this.states.processed), this.slots.processed];
  }

  /** Another fork wins: all that is not final has never been. */
  dropFork(): void {
    this.landed = this.landed.filter(({ slot }) => slot <= this.slots.finalized);
    for (const state of ['processed', 'confirmed'] as const) this.states[state] = copyOf(this.states.finalized);
    this.slots.confirmed = this.slots.finalized;
    this.nextSlot();
  }

  slot(commitment: Commitment): bigint {
    return this.slots[commitment];
  }

  latestBlockhash(): string {
    return this.blockhashes.at(-1)!;
  }

  /** The time is now, in every state. */
  account(address: Address, commitment: Commitment): Account | null {
    const found = this.states[commitment].getAccount(address);
    if (!found.exists || (found.lamports === 0n && found.data.length === 0)) return null;
    const data = Buffer.from(found.data);
    if (address === CLOCK) data.writeBigInt64LE(BigInt(nowSeconds()), CLOCK_TIME_AT);
    return { lamports: found.lamports, owner: found.programAddress, data };
  }

  leastBalance(bytes: bigint): bigint {
    return this.states.processed.minimumBalanceForRentExemption(bytes);
  }

  transaction(signature: string, commitment: Commitment): LandedTransaction | undefined {
    return this.landed.find((transaction) => transaction.signature === signature && transaction.slot <= this.slots[commitment]);
  }

  /** Newest first. */
  transactionsOf(address: Address, commitment: Commitment): LandedTransaction[] {
    return this.landed.filter(({ keys, slot }) => keys.includes(address) && slot <= this.slots[commitment]).reverse();
  }

  /** What it would do; its error where it would do nothing. */
  simulate(wire: Uint8Array): { err: string | null; logs: string[] } {
    const transaction = getTransactionDecoder().decode(wire);
    const stale = this.staleness(transaction);
    if (stale) return { err: stale, logs: [] };
    const result = this.states.processed.simulateTransaction(transaction);
    return { err: result instanceof FailedTransactionMetadata ? result.toString() : null, logs: result.meta().logs() };
  }

  /**
   * Puts a transaction in a block of its own, also one that fails where it pays its fee.
   * @throws Error where no block would take it.
   */
  send(wire: Uint8Array): Signature {
    const transaction = getTransactionDecoder().decode(wire);
    const stale = this.staleness(transaction);
    if (stale) throw new Error(stale);
    const { keys, ...message } = this.read(transaction);
    const [preBalances, preTokenBalances] = [this.lamportsOf(keys), this.tokensOf(keys)];
    const result = this.states.processed.sendTransaction(transaction);
    const postBalances = this.lamportsOf(keys);
    const failure = result instanceof FailedTransactionMetadata ? result : null;
    if (failure && postBalances[0] === preBalances[0]) throw new Error(failure.toString());
    const meta: TransactionMetadata = failure ? failure.meta() : (result as TransactionMetadata);
    this.nextSlot();
    const signature = base58(Object.values(transaction.signatures)[0]!) as Signature;
    this.landed.push({
      signature,
      slot: this.slots.processed,
      unixSeconds: nowSeconds(),
      wire,
      keys,
      ...message,
      innerInstructions: innerInstructionsOf(meta),
      err: failure && failure.toString(),
      logs: meta.logs(),
      preBalances,
      postBalances,
      preTokenBalances,
      postTokenBalances: this.tokensOf(keys),
    });
    return signature;
  }

  private nextSlot(): void {
    this.slots.processed += 1n;
    this.states.processed.warpToSlot(this.slots.processed);
    this.states.processed.expireBlockhash();
    this.blockhashes.push(this.states.processed.latestBlockhash());
    if (this.blockhashes.length > BLOCKHASHES) this.blockhashes.shift();
  }

  private staleness(transaction: Transaction): string | null {
    const { lifetimeToken } = messageOf(transaction);
    return this.blockhashes.includes(lifetimeToken) ? null : 'BlockhashNotFound';
  }

  private read(transaction: Transaction): Pick<LandedTransaction, 'keys' | 'staticKeys' | 'loadedAddresses' | 'instructions'> {
    const { staticAccounts, addressTableLookups = [], instructions } = messageOf(transaction);
    const load = (table: Address, indexes: number[]): Address[] => {
      const { data } = this.account(table, 'processed')!;
      return indexes.map((index) => keyAt(data, TABLE_HEAD_BYTES + KEY_BYTES * index));
    };
    const writable = addressTableLookups.flatMap(({ lookupTableAddress, writableIndexes }) => load(lookupTableAddress, writableIndexes));
    const readonly = addressTableLookups.flatMap(({ lookupTableAddress, readonlyIndexes }) => load(lookupTableAddress, readonlyIndexes));
    return {
      keys: [...staticAccounts, ...writable, ...readonly],
      staticKeys: staticAccounts,
      loadedAddresses: { writable, readonly },
      instructions: instructions.map(({ programAddressIndex, accountIndices = [], data = new Uint8Array() }) => ({ programIdIndex: programAddressIndex, accounts: accountIndices, data: base58(data) })),
    };
  }

  private lamportsOf(keys: Address[]): bigint[] {
    return keys.map((key) => this.account(key, 'processed')?.lamports ?? 0n);
  }

  private tokensOf(keys: Address[]): TokenBalance[] {
    return keys.flatMap((key, accountIndex): TokenBalance[] => {
      const account = this.account(key, 'processed');
      if (!account || !TOKEN_PROGRAMS.includes(account.owner) || account.data.length < TOKEN_ACCOUNT_BYTES || (account.data[TOKEN_ACCOUNT_BYTES] ?? TOKEN_ACCOUNT_TYPE) !== TOKEN_ACCOUNT_TYPE) return [];
      return [{ accountIndex, mint: keyAt(account.data, 0), owner: keyAt(account.data, KEY_BYTES), programId: account.owner, uiTokenAmount: this.tokenAmount(account.data, 'processed') }];
    });
  }

  /** @param data of a token account. */
  tokenAmount(data: Uint8Array, commitment: Commitment): TokenBalance['uiTokenAmount'] {
    const amount = Buffer.from(data).readBigUInt64LE(2 * KEY_BYTES).toString();
    const decimals = this.account(keyAt(data, 0), commitment)!.data[44]!;
    const digits = amount.padStart(decimals + 1, '0');
    return { amount, decimals, uiAmount: null, uiAmountString: decimals === 0 ? amount : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}` };
  }
}

const nowSeconds = (): number => Math.floor(Date.now() / 1000);
const copyOf = (state: LiteSVM): LiteSVM => LiteSVM.fromBytes(state.toBytes()).withBlockhashCheck(false);
const messageOf = ({ messageBytes }: Transaction): CompiledMessage => getCompiledTransactionMessageDecoder().decode(messageBytes) as unknown as CompiledMessage;

function innerInstructionsOf(meta: TransactionMetadata): LandedTransaction['innerInstructions'] {
  return meta.innerInstructions().flatMap((inner, index) => {
    if (inner.length === 0) return [];
    const instructions = inner.map((one) => {
      const { programIdIndex, accounts, data } = { programIdIndex: one.instruction().programIdIndex(), accounts: [...one.instruction().accounts()], data: base58(one.instruction().data()) };
      return { programIdIndex, accounts, data, stackHeight: one.stackHeight() };
    });
    return [{ index, instructions }];
  });
}
