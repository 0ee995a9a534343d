import { getBase58Decoder, getBase58Encoder, type Commitment } from '@solana/kit';
import { decodeTransaction, type LandedTransaction, type SolanaChain } from './solana-chain.js';

export interface RpcCall {
  readonly id: unknown;
  readonly method: string;
  readonly params?: readonly unknown[];
}

interface Config {
  readonly commitment?: Commitment;
  readonly preflightCommitment?: Commitment;
  readonly encoding?: string;
  readonly skipPreflight?: boolean;
  readonly sigVerify?: boolean;
  readonly replaceRecentBlockhash?: boolean;
  readonly innerInstructions?: boolean;
  readonly searchTransactionHistory?: boolean;
  readonly maxSupportedTransactionVersion?: number;
  readonly limit?: number;
  readonly before?: string;
  readonly until?: string;
}

type Methods = Record<string, (...params: never[]) => unknown>;

class RpcError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly data?: unknown,
  ) {
    super(message);
  }
}

/** Statuses of older transactions come from the history, which is searched only on request. */
const RECENT_BLOCKS = 300;
const MEMO_PROGRAMS = ['MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr', 'Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo'];

export function answerTo(methods: Methods, { id, method, params = [] }: RpcCall) {
  const answer = { jsonrpc: '2.0', id };
  try {
    if (!Object.hasOwn(methods, method)) throw new RpcError(-32601, 'Method not found');
    return { ...answer, result: methods[method]!(...(params as never[])) };
  } catch (error) {
    const { code, message, data } =
      error instanceof RpcError ? error : new RpcError(-32602, `Invalid params: ${(error as Error).message}`);
    return { ...answer, error: { code, message, data } };
  }
}

/** The methods as the documentation of Solana's RPC describes them. `finalized` is the default commitment. */
export function methodsOf(chain: SolanaChain): Methods {
  const blockFor = ({ commitment = 'finalized' }: Config = {}) => chain.blockAt(commitment);
  const inContext = <T>(config: Config | undefined, value: T) => ({ context: { slot: blockFor(config).slot }, value });
  const seconds = (milliseconds: number) => Math.floor(milliseconds / 1_000);
  const confirmationStatus = ({ block }: LandedTransaction) => (chain.isFinal(block) ? 'finalized' : 'confirmed');
  const decode = (text: string, { encoding = 'base58' }: Config = {}) =>
    decodeTransaction(encoding === 'base64' ? Buffer.from(text, 'base64') : getBase58Encoder().encode(text));
  const memoOf = ({ message, accounts }: LandedTransaction): string | null => {
    const memos = message.instructions
      .filter(({ programAddressIndex }) => MEMO_PROGRAMS.includes(accounts[programAddressIndex]!))
      .map(({ data }) => `[${data?.length ?? 0}] ${Buffer.from(data ?? []).toString()}`);
    return memos.length > 0 ? memos.join('; ') : null;
  };
  const simulate = (text: string, config: Config, commitment: Commitment) => {
    const execution = chain.simulate(decode(text, config), chain.blockAt(commitment).height, {
      sigVerify: config.sigVerify ?? false,
      replaceRecentBlockhash: config.replaceRecentBlockhash ?? false,
    });
    if (execution.err === 'SignatureFailure') throw new RpcError(-32003, 'Transaction signature verification failure');
    return {
      ...execution,
      innerInstructions: config.innerInstructions ? execution.innerInstructions : null,
      accounts: null,
      returnData: null,
    };
  };
  const transactionIn = ({ wire, transaction, message, accounts }: LandedTransaction, encoding: string) => {
    if (encoding === 'base64') return [Buffer.from(wire).toString('base64'), 'base64'];
    if (encoding !== 'json') throw new RpcError(-32602, `Invalid params: encoding ${encoding} is not offered here`);
    return {
      signatures: Object.values(transaction.signatures).map((each) => getBase58Decoder().decode(each!)),
      message: {
        accountKeys: accounts,
        header: {
          numRequiredSignatures: message.header.numSignerAccounts,
          numReadonlySignedAccounts: message.header.numReadonlySignerAccounts,
          numReadonlyUnsignedAccounts: message.header.numReadonlyNonSignerAccounts,
        },
        recentBlockhash: message.lifetimeToken,
        instructions: message.instructions.map(({ programAddressIndex, accountIndices = [], data }) => ({
          programIdIndex: programAddressIndex,
          accounts: accountIndices,
          data: getBase58Decoder().decode(data ?? new Uint8Array()),
          stackHeight: 1,
        })),
      },
    };
  };

  return {
    getHealth: () => 'ok',
    getGenesisHash: () => 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG',
    getSlot: (config?: Config) => blockFor(config).slot,
    getBlockHeight: (config?: Config) => blockFor(config).height,
    getBlockTime: (slot: number) => {
      const block = chain.blockOfSlot(slot);
      if (!block) throw new RpcError(-32004, `Block not available for slot ${slot}`);
      return seconds(block.milliseconds);
    },
    getMinimumBalanceForRentExemption: (bytes: number) => chain.rentOf(bytes),
    getLatestBlockhash: (config?: Config) => {
      const { blockhash, lastValidBlockHeight } = blockFor(config);
      return inContext(config, { blockhash, lastValidBlockHeight });
    },
    isBlockhashValid: (blockhash: string, config?: Config) =>
      inContext(config, chain.isBlockhashValid(blockhash, blockFor(config).height)),
    getBalance: (owner: string, config?: Config) => inContext(config, chain.account(owner)?.lamports ?? 0),
    getAccountInfo: (of: string, config?: Config) => {
      if (config?.encoding !== 'base64') throw new RpcError(-32602, 'Invalid params: only base64 is offered here');
      const account = chain.account(of);
      if (!account) return inContext(config, null);
      const { lamports, executable, space, programAddress: owner } = account;
      const data = [Buffer.from(account.data).toString('base64'), 'base64'];
      return inContext(config, { lamports, owner, data, executable, space, rentEpoch: 0 });
    },
    getTokenAccountBalance: (of: string, config?: Config) => {
      const account = chain.tokenAccount(of);
      if (!account) throw new RpcError(-32602, 'Invalid param: could not find account');
      return inContext(config, account.uiTokenAmount);
    },
    simulateTransaction: (text: string, config: Config = {}) => {
      const value = simulate(text, config, config.commitment ?? 'finalized');
      const { blockhash, lastValidBlockHeight } = blockFor(config);
      const replacementBlockhash = config.replaceRecentBlockhash && { blockhash, lastValidBlockHeight };
      return inContext(config, { ...value, replacementBlockhash });
    },
    sendTransaction: (text: string, config: Config = {}) => {
      const sent = decode(text, config);
      if (!config.skipPreflight) {
        const preflight = simulate(text, { ...config, sigVerify: true }, config.preflightCommitment ?? 'finalized');
        const reason = preflight.err === 'BlockhashNotFound' ? 'Blockhash not found' : JSON.stringify(preflight.err);
        if (preflight.err) throw new RpcError(-32002, `Transaction simulation failed: ${reason}`, preflight);
      }
      chain.land(sent);
      return sent.signature;
    },
    getSignatureStatuses: (signatures: string[], config?: Config) => {
      const { slot, height } = chain.blockAt('confirmed');
      const value = signatures.map((signature) => {
        const landed = chain.transaction(signature, 'confirmed');
        if (!landed) return null;
        const age = height - landed.block.height;
        if (age > RECENT_BLOCKS && !config?.searchTransactionHistory) return null;
        const { err } = landed.execution;
        return {
          slot: landed.block.slot,
          confirmations: chain.isFinal(landed.block) ? null : age,
          err,
          status: err ? { Err: err } : { Ok: null },
          confirmationStatus: confirmationStatus(landed),
        };
      });
      return { context: { slot }, value };
    },
    getSignaturesForAddress: (of: string, { commitment = 'finalized', limit = 1_000, before, until }: Config = {}) => {
      const listed = chain.transactionsOf(of, commitment);
      const height = (signature: string | undefined, unknown: number) =>
        signature === undefined ? undefined : (chain.transaction(signature, 'confirmed')?.block.height ?? unknown);
      const [below, above] = [height(before, -1) ?? Infinity, height(until, -1) ?? -1];
      return listed
        .filter(({ block }) => block.height < below && block.height > above)
        .slice(0, limit)
        .map((landed) => ({
          signature: landed.signature,
          slot: landed.block.slot,
          blockTime: seconds(landed.block.milliseconds),
          err: landed.execution.err,
          memo: memoOf(landed),
          confirmationStatus: confirmationStatus(landed),
        }));
    },
    getTransaction: (signature: string, config: Config = {}) => {
      const landed = chain.transaction(signature, config.commitment ?? 'finalized');
      if (!landed) return null;
      const { message, block, execution, before, after } = landed;
      const { version } = message;
      if (version !== 'legacy' && config.maxSupportedTransactionVersion === undefined)
        throw new RpcError(
          -32015,
          `Transaction version (${version}) is not supported by the requesting client. ` +
            'Please try the request again with the following configuration parameter: ' +
            `"maxSupportedTransactionVersion": ${version}`,
        );
      return {
        slot: block.slot,
        blockTime: seconds(block.milliseconds),
        version: config.maxSupportedTransactionVersion === undefined ? undefined : version,
        transaction: transactionIn(landed, config.encoding ?? 'json'),
        meta: {
          err: execution.err,
          status: execution.err ? { Err: execution.err } : { Ok: null },
          // The fee is all that the fee payer of these transactions pays.
          fee: before.lamports[0]! - after.lamports[0]!,
          preBalances: before.lamports,
          postBalances: after.lamports,
          preTokenBalances: before.tokens,
          postTokenBalances: after.tokens,
          innerInstructions: execution.innerInstructions,
          logMessages: execution.logs,
          computeUnitsConsumed: execution.unitsConsumed,
          loadedAddresses: { readonly: [], writable: [] },
          rewards: [],
        },
      };
    },
  };
}
