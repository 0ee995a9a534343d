import { compiledContracts, startEvmNode, type EvmNode } from '@market/testing';
import { createWalletClient, http, parseAbi, publicActions, type Address, type Hash, type Hex } from 'viem';
import { mnemonicToAccount, type HDAccount } from 'viem/accounts';

type TestContract = 'SignedToken' | 'Batch';

/** The functions of both contracts that tests call. */
export const testAbi = parseAbi([
  'function mint(address to, uint256 value)',
  'function transfer(address to, uint256 value) returns (bool)',
  'function balanceOf(address owner) view returns (uint256)',
  'function cancelAuthorization(bytes32 nonce)',
  'function transferWithAuthorization(address, address, uint256, uint256, uint256, bytes32, bytes)',
  'function all(address target, bytes[] calls)',
]);

/** A chain with a funded payer, and contracts compiled from `contracts/`. */
export interface EvmHarness {
  node: EvmNode;
  payer: Address;
  /** The payer's account. */
  payerAccount: HDAccount;
  /** The key of an account that pays the gas of a facilitator. */
  gasKey: Hex;
  balanceOf(token: Address, owner: Address): Promise<bigint>;
  deploy(contract: TestContract): Promise<Address>;
  /** Places a contract's code at the address where clients expect the real contract. */
  place(contract: TestContract, address: Address): Promise<void>;
  /** Sends a transaction of the payer and resolves when a block contains it. */
  send(
    contract: Address,
    functionName: 'mint' | 'transfer' | 'cancelAuthorization' | 'transferWithAuthorization' | 'all',
    args: readonly unknown[],
  ): Promise<Hash>;
  /** Advances the time by this many seconds and makes the existing blocks final. */
  pass(seconds: number): Promise<void>;
  stop(): Promise<void>;
}

let contracts: ReturnType<typeof compiledContracts<[]>> | undefined;

export async function startEvmHarness(chainId?: number): Promise<EvmHarness> {
  const node = await startEvmNode({ chainId });
  const account = mnemonicToAccount(node.mnemonic);
  const chain = {
    id: node.chainId,
    name: 'test',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [node.url] } },
  };
  const client = createWalletClient({ account, chain, transport: http(node.url), pollingInterval: 20 }).extend(
    publicActions,
  );
  const deploy = async (contract: TestContract): Promise<Address> => {
    contracts ??= compiledContracts(new URL('./contracts/tokens.sol', import.meta.url));
    const hash = await client.deployContract(contracts[contract]!);
    return (await client.waitForTransactionReceipt({ hash })).contractAddress!;
  };
  return {
    node,
    payer: account.address,
    payerAccount: account,
    gasKey: `0x${Buffer.from(mnemonicToAccount(node.mnemonic, { addressIndex: 3 }).getHdKey().privateKey!).toString('hex')}`,
    balanceOf: (token, owner) =>
      client.readContract({ address: token, abi: testAbi, functionName: 'balanceOf', args: [owner] }),
    deploy,
    async place(contract, address) {
      await node.request('anvil_setCode', [address, await client.getCode({ address: await deploy(contract) })]);
    },
    async send(address, functionName, args) {
      const hash = await client.writeContract({ address, abi: testAbi, functionName, args } as Parameters<
        typeof client.writeContract
      >[0]);
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
