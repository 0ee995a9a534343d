import { compiledContracts, startEvmNode, type EvmNode } from '@market/testing';
import { createWalletClient, http, parseAbi, publicActions, type Address, type Hash, type Hex } from 'viem';
import { mnemonicToAccount, type HDAccount } from 'viem/accounts';

type TestContract = 'SignedToken' | 'Batch';

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
export interface EvmHarness {
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
  send(
    contract: Address,
    functionName: 'mint' | 'transfer' | 'cancelAuthorization' | 'transferWithAuthorization' | 'all',
    args: readonly unknown[],
  ): Promise<Hash>;
  /** Makes so many seconds pass, and what was there before final. */
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
