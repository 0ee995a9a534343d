import { startEvmNode, type EvmNode } from '@market/testing';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createWalletClient, http, parseAbi, publicActions, type Address, type Hash, type Hex } from 'viem';
import { mnemonicToAccount, type HDAccount } from 'viem/accounts';

interface SolidityCompiler {
  compile(input: string): string;
}
interface Compiled {
  contracts: Record<string, Record<TestContract, { evm: { bytecode: { object: string } } }>>;
  errors?: { severity: string; formattedMessage: string }[];
}

export type TestContract = 'SignedToken' | 'Batch';

/** Of both contracts, as far as tests call them. */
export const testAbi = parseAbi([
  'function mint(address to, uint256 value)',
  'function transfer(address to, uint256 value) returns (bool)',
  'function balanceOf(address owner) view returns (uint256)',
  'function cancelAuthorization(bytes32 nonce)',
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
  'function all(address target, bytes[] calls)',
]);

/** A chain with a payer who has coin, and contracts compiled from `contracts/`. */
export interface EvmWorld {
  node: EvmNode;
  payer: Address;
  /** Of the payer. */
  payerAccount: HDAccount;
  /** Pays the gas of a facilitator. */
  gasKey: Hex;
  balanceOf(token: Address, owner: Address): Promise<bigint>;
  deploy(contract: TestContract): Promise<Address>;
  /** Puts a contract's code where clients know the real one. */
  place(contract: TestContract, address: Address): Promise<void>;
  /** A transaction of the payer's, once it is in a block. */
  send(contract: Address, functionName: 'mint' | 'transfer' | 'cancelAuthorization' | 'transferWithAuthorization' | 'all', args: readonly unknown[]): Promise<Hash>;
  /** Makes so many seconds pass, and what was there before final. */
  pass(seconds: number): Promise<void>;
  stop(): Promise<void>;
}

export async function startEvmWorld(chainId?: number): Promise<EvmWorld> {
  const node = await startEvmNode({ chainId });
  const account = mnemonicToAccount(node.mnemonic);
  const chain = { id: node.chainId, name: 'test', nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 }, rpcUrls: { default: { http: [node.url] } } };
  const client = createWalletClient({ account, chain, transport: http(node.url), pollingInterval: 20 }).extend(publicActions);
  const deploy = async (contract: TestContract): Promise<Address> => {
    const hash = await client.deployContract({ abi: [], bytecode: bytecodeOf(contract) });
    return (await client.waitForTransactionReceipt({ hash })).contractAddress!;
  };
  return {
    node,
    payer: account.address,
    payerAccount: account,
    gasKey: `0x${Buffer.from(mnemonicToAccount(node.mnemonic, { addressIndex: 3 }).getHdKey().privateKey!).toString('hex')}`,
    balanceOf: (token, owner) => client.readContract({ address: token, abi: testAbi, functionName: 'balanceOf', args: [owner] }),
    deploy,
    async place(contract, address) {
      await node.request('anvil_setCode', [address, await client.getCode({ address: await deploy(contract) })]);
    },
    async send(address, functionName, args) {
      const hash = await client.writeContract({ address, abi: testAbi, functionName, args } as Parameters<typeof client.writeContract>[0]);
      await client.waitForTransactionReceipt({ hash });
      return hash;
    },
    async pass(seconds) {
      await node.request('evm_increaseTime', [seconds]);
      await node.mine(3);
    },
    stop: () => node.stop(),
  };
}

let output: Compiled | undefined;

function bytecodeOf(contract: TestContract): Hex {
  output ??= compile();
  return `0x${output.contracts['tokens.sol']![contract].evm.bytecode.object}`;
}

function compile(): Compiled {
  const sources = { 'tokens.sol': { content: readFileSync(new URL('./contracts/tokens.sol', import.meta.url), 'utf8') } };
  const compiler = createRequire(import.meta.url)('solc') as SolidityCompiler;
  const input = { language: 'Solidity', sources, settings: { outputSelection: { '*': { '*': ['evm.bytecode.object'] } } } };
  const compiled = JSON.parse(compiler.compile(JSON.stringify(input))) as Compiled;
  const mistakes = compiled.errors?.filter(({ severity }) => severity === 'error') ?? [];
  if (mistakes.length > 0) throw new Error(mistakes.map(({ formattedMessage }) => formattedMessage).join('\n'));
  return compiled;
}
