import { startEvmNode, type EvmNode } from '@market/testing';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createWalletClient, erc20Abi, http, parseAbi, publicActions, type Abi, type Address, type Hash, type Hex } from 'viem';
import { mnemonicToAccount, type HDAccount } from 'viem/accounts';

interface SolidityCompiler {
  compile(input: string): string;
}
interface Compiled {
  contracts: Record<string, Record<string, { abi: Abi; evm: { bytecode: { object: string } } }>>;
  errors?: { severity: string; formattedMessage: string }[];
}

export type TestContract = 'Token' | 'SignedToken' | 'FeeToken' | 'LyingToken' | 'RefusingToken' | 'Payer' | 'Aggregator';

/** What the aggregator says of itself from now on; a round is complete where `answeredInRound` is not below `roundId`. */
export interface Round {
  decimals: number;
  roundId: bigint;
  answer: bigint;
  /** Unix seconds. */
  updatedAt: bigint;
  answeredInRound: bigint;
}

/** A chain with a payer who has coin, and contracts compiled from `contracts/`. */
export interface EvmWorld {
  node: EvmNode;
  payer: Address;
  /** Of the payer. */
  payerAccount: HDAccount;
  balanceOf(token: Address, owner: Address): Promise<bigint>;
  deploy(contract: TestContract): Promise<Address>;
  /** Puts a contract's code where clients know the real one. */
  place(contract: TestContract, address: Address): Promise<void>;
  mint(token: Address, to: Address, value: bigint): Promise<void>;
  sendToken(token: Address, to: Address, value: bigint): Promise<Hash>;
  sendCoin(to: Address, value: bigint): Promise<Hash>;
  /** Coin through the `Payer` contract. */
  payThrough(contract: Address, to: Address, value: bigint): Promise<Hash>;
  setRound(aggregator: Address, round: Round): Promise<void>;
  stop(): Promise<void>;
}

const SOURCES = ['tokens.sol', 'aggregator.sol'];
const aggregatorAbi = parseAbi(['function set(uint8 decimals, uint80 roundId, int256 answer, uint256 updatedAt, uint80 answeredInRound)']);
const tokenAbi = parseAbi(['function mint(address to, uint256 value)', 'function transfer(address to, uint256 value) returns (bool)', 'function pay(address to) payable']);

export async function startEvmWorld(chainId?: number): Promise<EvmWorld> {
  const node = await startEvmNode({ chainId });
  const account = mnemonicToAccount(node.mnemonic);
  const chain = { id: node.chainId, name: 'test', nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 }, rpcUrls: { default: { http: [node.url] } } };
  const client = createWalletClient({ account, chain, transport: http(node.url), pollingInterval: 20 }).extend(publicActions);
  const done = async (sent: Promise<Hash>): Promise<Hash> => {
    const hash = await sent;
    await client.waitForTransactionReceipt({ hash });
    return hash;
  };
  const deploy = async (contract: TestContract): Promise<Address> => {
    const { abi, evm } = SOURCES.map((source) => compiled().contracts[source]![contract]).find((found) => found !== undefined)!;
    const hash = await client.deployContract({ abi, bytecode: `0x${evm.bytecode.object}` as Hex });
    return (await client.waitForTransactionReceipt({ hash })).contractAddress!;
  };
  return {
    node,
    payer: account.address,
    payerAccount: account,
    balanceOf: (token, owner) => client.readContract({ address: token, abi: erc20Abi, functionName: 'balanceOf', args: [owner] }),
    deploy,
    async place(contract, address) {
      await node.request('anvil_setCode', [address, await client.getCode({ address: await deploy(contract) })]);
    },
    mint: async (token, to, value) => void (await done(client.writeContract({ address: token, abi: tokenAbi, functionName: 'mint', args: [to, value] }))),
    sendToken: (token, to, value) => done(client.writeContract({ address: token, abi: tokenAbi, functionName: 'transfer', args: [to, value] })),
    sendCoin: (to, value) => done(client.sendTransaction({ to, value })),
    payThrough: (contract, to, value) => done(client.writeContract({ address: contract, abi: tokenAbi, functionName: 'pay', args: [to], value })),
    setRound: async (address, { decimals, roundId, answer, updatedAt, answeredInRound }) => void (await done(client.writeContract({ address, abi: aggregatorAbi, functionName: 'set', args: [decimals, roundId, answer, updatedAt, answeredInRound] }))),
    stop: () => node.stop(),
  };
}

let output: Compiled | undefined;

function compiled(): Compiled {
  if (output) return output;
  const sources = Object.fromEntries(SOURCES.map((source) => [source, { content: readFileSync(new URL(`./contracts/${source}`, import.meta.url), 'utf8') }]));
  const compiler = createRequire(import.meta.url)('solc') as SolidityCompiler;
  const input = { language: 'Solidity', sources, settings: { outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } } } };
  output = JSON.parse(compiler.compile(JSON.stringify(input))) as Compiled;
  const mistakes = output.errors?.filter(({ severity }) => severity === 'error') ?? [];
  if (mistakes.length > 0) throw new Error(mistakes.map(({ formattedMessage }) => formattedMessage).join('\n'));
  return output;
}
