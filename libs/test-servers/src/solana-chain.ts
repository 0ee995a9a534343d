import {
  AccountState,
  findAssociatedTokenPda,
  getMintEncoder,
  getMintSize,
  getTokenDecoder,
  getTokenEncoder,
  getTokenSize,
  TOKEN_PROGRAM_ADDRESS,
} from '@solana-program/token';
import {
  address,
  getBase58Decoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  isFullySignedTransaction,
  lamports,
  type Address,
  type Commitment,
  type EncodedAccount,
  type ReadonlyUint8Array,
  type Transaction,
} from '@solana/kit';
import { FailedTransactionMetadata, LiteSVM } from 'litesvm';
import { randomBytes } from 'node:crypto';

export const USDC = address('4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU');
const DECIMALS = 6;
const SYSTEM_PROGRAM = address('11111111111111111111111111111111');
const SLOT_MILLISECONDS = 400;
/** A blockhash is valid for this number of blocks after its own block. */
const BLOCKHASH_BLOCKS = 150;
/** Leaders skip slots, so the number of a slot is not the height of its block. */
const SKIPPED_SLOTS = 1_000;

export interface Block {
  readonly height: number;
  readonly slot: number;
  readonly blockhash: string;
  readonly lastValidBlockHeight: number;
  readonly milliseconds: number;
}

/** The form of JSON-RPC: a name, or an object with one key. */
type TransactionError = string | Record<string, unknown>;

export interface Execution {
  readonly err: TransactionError | null;
  readonly logs: string[];
  readonly unitsConsumed: bigint;
  readonly innerInstructions: { index: number; instructions: unknown[] }[];
}

export type SentTransaction = ReturnType<typeof decodeTransaction>;

export interface LandedTransaction extends SentTransaction {
  readonly block: Block;
  readonly execution: Execution;
  readonly before: Balances;
  readonly after: Balances;
}

type Balances = ReturnType<SolanaChain['balancesOf']>;

/** Adds blocks and commitments to litesvm, which executes transactions like a validator but has neither. */
export class SolanaChain {
  private readonly svm = new LiteSVM().withBlockhashCheck(false).withTransactionHistory(0n);
  private readonly blocks: Block[] = [];
  /** The transactions in the order of their blocks. */
  private readonly landed = new Map<string, LandedTransaction>();
  /**
   * Validators identify a processed transaction by its message, so a copy without all signatures counts as the same.
   */
  private readonly processedMessages = new Set<string>();

  constructor(private readonly blocksToFinality: number) {
    const data = getMintEncoder().encode({
      mintAuthority: null,
      supply: 0n,
      decimals: DECIMALS,
      isInitialized: true,
      freezeAuthority: null,
    });
    this.setAccount(USDC, TOKEN_PROGRAM_ADDRESS, data, this.rentOf(getMintSize()));
    this.mine(blocksToFinality + 1);
  }

  mine(blocks: number): void {
    for (let mined = 0; mined < blocks; mined += 1) {
      const height = this.blocks.length;
      this.blocks.push({
        height,
        slot: height + SKIPPED_SLOTS,
        blockhash: getBase58Decoder().decode(randomBytes(32)),
        lastValidBlockHeight: height + BLOCKHASH_BLOCKS,
        milliseconds: Math.max((this.blocks.at(-1)?.milliseconds ?? 0) + SLOT_MILLISECONDS, Date.now()),
      });
    }
    const { slot, milliseconds } = this.blockAt('confirmed');
    const clock = this.svm.getClock();
    clock.slot = BigInt(slot);
    clock.unixTimestamp = BigInt(Math.floor(milliseconds / 1_000));
    this.svm.setClock(clock);
  }

  /** Returns the last block of a commitment. */
  blockAt(commitment: Commitment): Block {
    const last = this.blocks.length - 1;
    return this.blocks[commitment === 'finalized' ? last - this.blocksToFinality : last]!;
  }

  blockOfSlot(slot: number): Block | undefined {
    return this.blocks[slot - SKIPPED_SLOTS];
  }

  isFinal({ height }: Block): boolean {
    return height <= this.blockAt('finalized').height;
  }

  isBlockhashValid(blockhash: string, height: number): boolean {
    const block = this.blocks.findLast((each) => each.blockhash === blockhash);
    return block !== undefined && block.height <= height && height <= block.lastValidBlockHeight;
  }

  /** Returns `null` if the transaction is not visible at this commitment. */
  transaction(signature: string, commitment: Commitment): LandedTransaction | null {
    const landed = this.landed.get(signature);
    return landed && landed.block.height <= this.blockAt(commitment).height ? landed : null;
  }

  /** Returns the newest transactions first. */
  transactionsOf(account: string, commitment: Commitment): LandedTransaction[] {
    return [...this.landed.values()]
      .filter(({ block, accounts }) => block.height <= this.blockAt(commitment).height && accounts.includes(account))
      .reverse();
  }

  simulate(
    { transaction, message, messageKey }: SentTransaction,
    height: number,
    { sigVerify = true, replaceRecentBlockhash = false } = {},
  ): Execution {
    if (sigVerify && !isFullySignedTransaction(transaction)) return notExecuted('SignatureFailure');
    if (!replaceRecentBlockhash && !this.isBlockhashValid(message.lifetimeToken, height))
      return notExecuted('BlockhashNotFound');
    if (this.processedMessages.has(messageKey)) return notExecuted('AlreadyProcessed');
    this.svm.withSigverify(sigVerify);
    try {
      return executionOf(this.svm.simulateTransaction(transaction));
    } finally {
      this.svm.withSigverify(true);
    }
  }

  /**
   * Adds a transaction to a block, even if it fails. A transaction that is unsigned, expired or cannot pay its fee
   * leaves no trace.
   */
  land(sent: SentTransaction): void {
    const { height } = this.blockAt('confirmed');
    if (!isFullySignedTransaction(sent.transaction)) return;
    if (!this.isBlockhashValid(sent.message.lifetimeToken, height + 1)) return;
    if (this.processedMessages.has(sent.messageKey)) return;
    const before = this.balancesOf(sent.accounts);
    const execution = executionOf(this.svm.sendTransaction(sent.transaction));
    const after = this.balancesOf(sent.accounts);
    if (execution.err && after.lamports[0] === before.lamports[0]) return;
    this.mine(1);
    this.processedMessages.add(sent.messageKey);
    this.landed.set(sent.signature, { ...sent, block: this.blockAt('confirmed'), execution, before, after });
  }

  account(of: string): EncodedAccount | null {
    const account = this.svm.getAccount(address(of));
    return account.exists ? account : null;
  }

  /** Returns `null` if the account is not a token account. */
  tokenAccount(of: string) {
    const account = this.account(of);
    if (account?.programAddress !== TOKEN_PROGRAM_ADDRESS || account.data.length !== getTokenSize()) return null;
    const { mint, owner, amount } = getTokenDecoder().decode(account.data);
    const uiAmountString = String(Number(amount) / 10 ** DECIMALS);
    const uiTokenAmount = {
      amount: String(amount),
      decimals: DECIMALS,
      uiAmount: Number(uiAmountString),
      uiAmountString,
    };
    return { mint, owner, programId: TOKEN_PROGRAM_ADDRESS, uiTokenAmount };
  }

  async tokenAddress(owner: string): Promise<Address> {
    const [found] = await findAssociatedTokenPda({
      mint: USDC,
      owner: address(owner),
      tokenProgram: TOKEN_PROGRAM_ADDRESS,
    });
    return found;
  }

  async setTokens(owner: string, amount: bigint): Promise<Address> {
    const tokenAddress = await this.tokenAddress(owner);
    const data = getTokenEncoder().encode({
      mint: USDC,
      owner: address(owner),
      amount,
      delegate: null,
      state: AccountState.Initialized,
      isNative: null,
      delegatedAmount: 0n,
      closeAuthority: null,
    });
    this.setAccount(tokenAddress, TOKEN_PROGRAM_ADDRESS, data, this.rentOf(getTokenSize()));
    return tokenAddress;
  }

  setLamports(owner: string, amount: bigint): void {
    this.setAccount(address(owner), SYSTEM_PROGRAM, new Uint8Array(), amount);
  }

  rentOf(bytes: number): bigint {
    return this.svm.minimumBalanceForRentExemption(BigInt(bytes));
  }

  private balancesOf(accounts: string[]) {
    return {
      lamports: accounts.map((account) => this.account(account)?.lamports ?? 0n),
      tokens: accounts.flatMap((account, accountIndex) => {
        const tokens = this.tokenAccount(account);
        return tokens ? [{ accountIndex, ...tokens }] : [];
      }),
    };
  }

  private setAccount(of: Address, programAddress: Address, data: ReadonlyUint8Array, balance: bigint): void {
    this.svm.setAccount({
      address: of,
      programAddress,
      data: Uint8Array.from(data),
      lamports: lamports(balance),
      space: BigInt(data.length),
      executable: false,
    });
  }
}

/** Decodes legacy transactions and those of version 0. Accounts in lookup tables are not included in `accounts`. */
export function decodeTransaction(wire: ReadonlyUint8Array) {
  const transaction: Transaction = getTransactionDecoder().decode(wire);
  const message = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes);
  if (message.version === 1) throw new Error('transactions of version 1 are not executed here');
  return {
    wire,
    transaction,
    message,
    messageKey: Buffer.from(transaction.messageBytes).toString('base64'),
    accounts: message.staticAccounts as string[],
    signature: getBase58Decoder().decode(Object.values(transaction.signatures)[0] ?? new Uint8Array(64)),
  };
}

const notExecuted = (err: string): Execution => ({ err, logs: [], unitsConsumed: 0n, innerInstructions: [] });

function executionOf(result: ReturnType<LiteSVM['sendTransaction'] | LiteSVM['simulateTransaction']>): Execution {
  const meta = 'meta' in result ? result.meta() : result;
  return {
    err: result instanceof FailedTransactionMetadata ? errorOf(result) : null,
    logs: meta.logs(),
    unitsConsumed: meta.computeUnitsConsumed(),
    innerInstructions: meta.innerInstructions().flatMap((inner, index) => {
      const instructions = inner.map((each) => ({
        programIdIndex: each.instruction().programIdIndex(),
        accounts: [...each.instruction().accounts()],
        data: getBase58Decoder().decode(each.instruction().data()),
        stackHeight: each.stackHeight(),
      }));
      return instructions.length > 0 ? [{ index, instructions }] : [];
    }),
  };
}

/**
 * litesvm represents these as numbers of enumerations that it declares but does not export. Its text contains the
 * names.
 */
function errorOf(failed: FailedTransactionMetadata): TransactionError {
  const [, name = 'Unknown', details = ''] = /err: (\w+)(.*?), meta:/s.exec(failed.toString()) ?? [];
  const instruction = /^\((\d+), (\w+)(?:\((\d+)\))?/.exec(details);
  if (instruction) {
    const [, index, reason, code] = instruction;
    return { [name]: [Number(index), code === undefined ? reason : { Custom: Number(code) }] };
  }
  const account = /account_index: (\d+)/.exec(details);
  return account ? { [name]: { account_index: Number(account[1]) } } : name;
}
