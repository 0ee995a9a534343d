import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Address, KeyPairSigner } from '@solana/kit';
import type { Account, Commitment, LandedTransaction, SolanaStates } from './solana-states.js';

export interface SolanaNode {
  readonly url: string;
  /** CAIP-2 id, of a genesis that no other chain has. */
  readonly network: string;
  /** Has a million SOL. */
  readonly payer: KeyPairSigner;
  /** Makes all that was sent confirmed, but not final. */
  confirm(): void;
  /** Makes all that was sent final. */
  finalize(): void;
  /** Another fork wins: what was sent and is not final was never there. */
  dropFork(): void;
  stop(): void;
}

interface Question {
  id: unknown;
  method: string;
  params?: unknown[];
}
interface Config {
  commitment?: Commitment;
  encoding?: string;
  limit?: number;
  before?: string;
  until?: string;
  skipPreflight?: boolean;
}

const PREFLIGHT_FAILED = -32_002;

class RpcError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly data?: object,
  ) {
    super(message);
  }
}

/**
 * A Solana chain of one's own, behind JSON-RPC: litesvm, which is the real VM with the real programs, checks real signatures.
 * What is sent is processed at once, each transaction in a slot of its own, and becomes final when the test says so. It is simpler
 * than a cluster where none of us looks: slots pass with transactions alone, the clock is always now, there are no blocks, leaders
 * or rewards, fees go nowhere, the error of a transaction is litesvm's text and not the structure of the protocol, `json` and
 * `base64` are the encodings, and only the methods below are known.
 */
export async function startSolanaNode(): Promise<SolanaNode> {
  // Both are heavy, and of no use to other tests.
  const [{ SolanaStates }, kit, { getTransferSolInstruction }] = await Promise.all([import('./solana-states.js'), import('@solana/kit'), import('@solana-program/system')]);
  const payer = await kit.generateKeyPairSigner();
  const states = new SolanaStates(payer.address);
  const airdrop = async (to: Address, lamports: bigint): Promise<string> => {
    const message = kit.pipe(
      kit.createTransactionMessage({ version: 0 }),
      (empty) => kit.setTransactionMessageFeePayerSigner(payer, empty),
      (paid) => kit.setTransactionMessageLifetimeUsingBlockhash({ blockhash: states.latestBlockhash() as never, lastValidBlockHeight: 0n }, paid),
      (dated) => kit.appendTransactionMessageInstruction(getTransferSolInstruction({ source: payer, destination: to, amount: lamports }), dated),
    );
    const signed = await kit.signTransactionMessageWithSigners(message);
    return states.send(new Uint8Array(kit.getTransactionEncoder().encode(signed)));
  };
  const server = createServer((request, response) => {
    const handle = async (): Promise<void> => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const asked = JSON.parse(Buffer.concat(chunks).toString()) as Question | Question[];
      const answers = Array.isArray(asked) ? await Promise.all(asked.map((question) => answer(states, airdrop, question))) : await answer(states, airdrop, asked);
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answers, (_key, value: unknown) => (typeof value === 'bigint' ? Number(value) : value)));
    };
    handle().catch(() => request.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    network: `solana:${states.genesisHash.slice(0, 32)}`,
    payer,
    confirm: () => states.settle('confirmed'),
    finalize: () => states.settle('finalized'),
    dropFork: () => states.dropFork(),
    stop: () => void server.close().closeAllConnections(),
  };
}

type Airdrop = (to: Address, lamports: bigint) => Promise<string>;

async function answer(states: SolanaStates, airdrop: Airdrop, { id, method, params = [] }: Question): Promise<object> {
  try {
    const ask = METHODS[method];
    if (!ask) throw new RpcError(-32_601, `Method not found: ${method}`);
    return { jsonrpc: '2.0', id, result: await ask(states, params, airdrop) };
  } catch (error) {
    const { code = -32_602, message, data } = error as Partial<RpcError>;
    return { jsonrpc: '2.0', id, error: { code, message, data } };
  }
}

const configAt = (params: unknown[], index: number): Config & { commitment: Commitment } => ({ commitment: 'finalized', ...(params[index] as Config | undefined) });
const inState = (states: SolanaStates, { commitment }: { commitment: Commitment }, value: unknown): object => ({ context: { apiVersion: '3.0.0', slot: states.slot(commitment) }, value });
const toAccount = (account: Account | null): object | null =>
  account && { lamports: account.lamports, owner: account.owner, data: [Buffer.from(account.data).toString('base64'), 'base64'], executable: false, rentEpoch: 0, space: account.data.length };

const METHODS: Record<string, (states: SolanaStates, params: unknown[], airdrop: Airdrop) => unknown> = {
  getHealth: () => 'ok',
  getVersion: () => ({ 'solana-core': '3.0.0', 'feature-set': 0 }),
  getGenesisHash: (states) => states.genesisHash,
  getSlot: (states, params) => states.slot(configAt(params, 0).commitment),
  getBlockHeight: (states, params) => states.slot(configAt(params, 0).commitment),
  getLatestBlockhash: (states, params) => inState(states, configAt(params, 0), { blockhash: states.latestBlockhash(), lastValidBlockHeight: states.slot('processed') + 150n }),
  getMinimumBalanceForRentExemption: (states, [bytes]) => states.leastBalance(BigInt(bytes as number)),
  getBalance: (states, params) => inState(states, configAt(params, 1), states.account(params[0] as Address, configAt(params, 1).commitment)?.lamports ?? 0),
  getAccountInfo: (states, params) => inState(states, configAt(params, 1), toAccount(states.account(params[0] as Address, configAt(params, 1).commitment))),
  getMultipleAccounts(states, params) {
    const config = configAt(params, 1);
    return inState(states, config, (params[0] as Address[]).map((address) => toAccount(states.account(address, config.commitment))));
  },
  getTokenAccountBalance(states, params) {
    const config = configAt(params, 1);
    const account = states.account(params[0] as Address, config.commitment);
    if (!account) throw new RpcError(-32_602, 'Invalid param: could not find account');
    return inState(states, config, states.tokenAmount(account.data, config.commitment));
  },
  getSignaturesForAddress(states, params) {
    const { commitment, limit = 1_000, before, until } = configAt(params, 1);
    const all = states.transactionsOf(params[0] as Address, commitment);
    const at = (signature: string | undefined, otherwise: number): number => (signature === undefined ? otherwise : all.findIndex((transaction) => transaction.signature === signature));
    return all.slice(before === undefined ? 0 : at(before, 0) + 1, at(until, all.length)).slice(0, limit).map((transaction) => ({ ...statusOf(states, transaction), signature: transaction.signature, blockTime: transaction.unixSeconds, memo: null }));
  },
  getSignatureStatuses(states, [signatures]) {
    const found = (signatures as string[]).map((signature) => states.transaction(signature, 'processed'));
    return inState(states, { commitment: 'processed' }, found.map((transaction) => transaction && { ...statusOf(states, transaction), confirmations: null, status: transaction.err === null ? { Ok: null } : { Err: transaction.err } }).map((status) => status ?? null));
  },
  getTransaction(states, params) {
    const { commitment, encoding } = configAt(params, 1);
    const transaction = states.transaction(params[0] as string, commitment);
    return transaction ? toTransaction(transaction, encoding) : null;
  },
  simulateTransaction(states, params) {
    const { err, logs } = states.simulate(Buffer.from(params[0] as string, 'base64'));
    return inState(states, { commitment: 'processed' }, { err, logs, accounts: null, unitsConsumed: 0, returnData: null });
  },
  sendTransaction(states, params) {
    const wire = Buffer.from(params[0] as string, 'base64');
    const { err, logs } = configAt(params, 1).skipPreflight ? { err: null, logs: [] } : states.simulate(wire);
    if (err !== null) throw new RpcError(PREFLIGHT_FAILED, `Transaction simulation failed: ${err}`, { err, logs, accounts: null, unitsConsumed: 0, returnData: null });
    return states.send(wire);
  },
  requestAirdrop: (_states, [to, lamports], airdrop) => airdrop(to as Address, BigInt(lamports as number)),
};

function statusOf(states: SolanaStates, { slot, err }: LandedTransaction): { slot: bigint; err: string | null; confirmationStatus: Commitment } {
  const confirmationStatus = (['finalized', 'confirmed', 'processed'] as const).find((commitment) => slot <= states.slot(commitment))!;
  return { slot, err, confirmationStatus };
}

function toTransaction(landed: LandedTransaction, encoding: string | undefined): object {
  const { slot, unixSeconds, wire, signature, staticKeys, loadedAddresses, instructions, innerInstructions, err, logs, preBalances, postBalances, preTokenBalances, postTokenBalances } = landed;
  const transaction = encoding === 'base64' ? [Buffer.from(wire).toString('base64'), 'base64'] : { signatures: [signature], message: { accountKeys: staticKeys, instructions } };
  return {
    slot,
    blockTime: unixSeconds,
    version: 0,
    transaction,
    meta: { err, fee: 5_000, logMessages: logs, preBalances, postBalances, preTokenBalances, postTokenBalances, innerInstructions, loadedAddresses, rewards: null, status: err === null ? { Ok: null } : { Err: err } },
  };
}
