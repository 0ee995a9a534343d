import {
  BaseError,
  concat,
  encodeFunctionData,
  multicall3Abi,
  NonceTooLowError,
  type Address,
  type Hash,
  type Hex,
  type PublicActions,
  type WalletActions,
  type WriteContractParameters,
} from 'viem';
import { useOf, type AuthorizationKey } from './authorizations-on-chain.js';
import type { Nonces } from './gas-accounts.js';

/** The address of Multicall3 on every chain that has it. Source: github.com/mds1/multicall3. */
export const MULTICALL3: Address = '0xcA11bde05977b3631167028862bE2a173976CA11';
/** Together they take some two million gas, a small part of a block. */
const MOST_TOGETHER = 25;
/** What Multicall3 takes for a call in addition to what was estimated for the call alone. */
const GAS_OF_A_CALL = 10_000n;
/** Others outside this marketplace may send transactions of the same account. */
const ATTEMPTS = 3;

type Client = Pick<PublicActions, 'getCode' | 'getTransactionCount' | 'waitForTransactionReceipt'> &
  Pick<WalletActions, 'sendTransaction'>;
/** A call of a contract, and the most gas that it may take. */
export type Call = { gas: bigint } & (
  Pick<WriteContractParameters, 'address' | 'abi' | 'functionName' | 'args' | 'dataSuffix'> | Encoded
);
interface Encoded {
  to: Address;
  data: Hex;
}

interface Waiting {
  call: Call;
  /** What the call uses if it may go together with others. Undefined if it goes alone. */
  authorization: (AuthorizationKey & { asset: Address }) | undefined;
  resolve(hash: Hash): void;
  reject(error: unknown): void;
}

/**
 * Sends the transactions of one account on one chain one after another, also over several processes. Transfers that
 * wait meanwhile go together in the next transaction, where the chain has Multicall3.
 */
export class SettlementLane {
  private waiting: Waiting[] = [];
  private isSending = false;
  private hasMulticall = false;

  constructor(
    private readonly client: Client,
    private readonly account: { network: string; address: Address },
    private readonly nonces: Nonces,
  ) {}

  /**
   * @returns the transaction of the call. If it contains others too, it has succeeded, and so has the call.
   * @throws Error if nothing was sent, or if it is unknown what became of it.
   */
  send(call: Call): Promise<Hash> {
    return new Promise((resolve, reject) => this.add({ call, authorization: authorizationOf(call), resolve, reject }));
  }

  private add(one: Waiting): void {
    this.waiting.push(one);
    if (!this.isSending) void this.sendAll();
  }

  private async sendAll(): Promise<void> {
    this.isSending = true;
    while (this.waiting.length > 0) {
      const group = await this.next();
      this.waiting = this.waiting.filter((one) => !group.includes(one));
      try {
        const hash = await this.transact(group.map(({ call }) => call));
        if (group.length === 1) group[0]!.resolve(hash);
        else void this.conclude(group, hash);
      } catch (error) {
        group.forEach(({ reject }) => reject(error));
      }
    }
    this.isSending = false;
  }

  private async next(): Promise<Waiting[]> {
    const transfers = this.waiting.filter(({ authorization }) => authorization).slice(0, MOST_TOGETHER);
    if (transfers.length > 1 && (await this.canGroup())) {
      // The code of a payer decides how much of the gas of all it takes.
      await Promise.all(
        transfers.map(async (one) => {
          if (await this.hasCode(one.authorization!.payer as Address, true)) one.authorization = undefined;
        }),
      );
      const group = transfers.filter(({ authorization }) => authorization);
      if (group.length > 1) return group;
    }
    return this.waiting.slice(0, 1);
  }

  /** Asked again as long as the answer is no. */
  private async canGroup(): Promise<boolean> {
    this.hasMulticall ||= await this.hasCode(MULTICALL3, false);
    return this.hasMulticall;
  }

  private hasCode(address: Address, orElse: boolean): Promise<boolean> {
    return this.client.getCode({ address }).then(
      (code) => code !== undefined,
      () => orElse,
    );
  }

  private async transact(calls: Call[]): Promise<Hash> {
    const transaction = calls.length === 1 ? alone(calls[0]!) : together(calls);
    const count = (): Promise<number> =>
      this.client.getTransactionCount({ address: this.account.address, blockTag: 'pending' });
    const sendAs = (nonce: number): Promise<Hash> => this.client.sendTransaction({ ...transaction, nonce } as never);
    for (let attempt = 1; ; attempt += 1)
      try {
        return await this.nonces.send(this.account, count, sendAs);
      } catch (error) {
        if (attempt === ATTEMPTS || !isNonceTaken(error)) throw error;
      }
  }

  /** Sends alone what failed beside others. */
  private async conclude(group: Waiting[], hash: Hash): Promise<void> {
    try {
      const { logs } = await this.client.waitForTransactionReceipt({ hash });
      for (const one of group)
        if (useOf(logs, one.authorization!, one.authorization!.asset)) one.resolve(hash);
        else this.add({ ...one, authorization: undefined });
    } catch (error) {
      group.forEach(({ reject }) => reject(error));
    }
  }
}

function alone(call: Call): Encoded & { gas: bigint } {
  const { gas } = call;
  if ('data' in call) return { to: call.to, data: call.data, gas };
  const { address, dataSuffix = '0x' } = call;
  const data = encodeFunctionData(call as Parameters<typeof encodeFunctionData>[0]);
  return { to: address, data: concat([data, dataSuffix]), gas };
}

/** A call that fails does not undo the others. */
function together(calls: Call[]): { to: Address; data: Hex; gas: bigint } {
  const parts = calls.map(alone);
  return {
    to: MULTICALL3,
    data: encodeFunctionData({
      abi: multicall3Abi,
      functionName: 'aggregate3',
      args: [parts.map(({ to, data }) => ({ target: to, callData: data, allowFailure: true }))],
    }),
    gas: parts.reduce((sum, { gas }) => sum + gas + GAS_OF_A_CALL, 0n),
  };
}

/** The authorization that a transfer by an ordinary signature uses. */
function authorizationOf(call: Call): (AuthorizationKey & { asset: Address }) | undefined {
  if ('data' in call || call.functionName !== 'transferWithAuthorization' || call.args?.length !== 9) return undefined;
  return { payer: call.args[0] as Address, nonce: call.args[5] as Hex, asset: call.address };
}

const isNonceTaken = (error: unknown): boolean =>
  error instanceof BaseError && error.walk((cause) => cause instanceof NonceTooLowError) !== null;
