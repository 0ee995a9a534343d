import { compiledContracts, startEvmNode, type EvmNode } from '@market/testing';
import { PERMIT2_ADDRESS, x402ExactPermit2ProxyAddress, x402UptoPermit2ProxyAddress } from '@x402/evm';
import { createWalletClient, http, maxUint256, parseAbi, publicActions, type Address, type Hash, type Hex } from 'viem';
import { mnemonicToAccount, type HDAccount } from 'viem/accounts';
import { MULTICALL3 } from '../../src/rails/x402/settlement-lane.js';

type TestContract =
  | 'SignedToken'
  | 'PlainToken'
  | 'Batch'
  | 'Multicall3'
  | 'WalletFactory'
  | 'DelegatedWallet'
  | 'Permit2'
  | 'UptoProxy'
  | 'ExactProxy';

/** The functions of the contracts that tests call. */
export const testAbi = parseAbi([
  'function mint(address to, uint256 value)',
  'function transfer(address to, uint256 value) returns (bool)',
  'function balanceOf(address owner) view returns (uint256)',
  'function cancelAuthorization(bytes32 nonce)',
  'function approve(address spender, uint256 value) returns (bool)',
  'function invalidateUnorderedNonces(uint256 word, uint256 mask)',
  'function transferWithAuthorization(address, address, uint256, uint256, uint256, bytes32, bytes)',
  'function all(address target, bytes[] calls)',
  'function deploy(address owner, bytes32 salt) returns (address)',
  'function addressOf(address owner, bytes32 salt) view returns (address)',
]);

/** EVM code that takes 26 gas in each of some rounds and then agrees to any signature (ERC-1271). */
export const codeThatBurns = (rounds: number): `0x${string}` =>
  `0x62${rounds.toString(16).padStart(6, '0')}5b6001900380600457631626ba7e60e01b60005260206000f3`;

interface SignedText {
  payload: { authorization: Record<string, string>; signature: string };
}

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
    functionName:
      | 'mint'
      | 'transfer'
      | 'approve'
      | 'cancelAuthorization'
      | 'invalidateUnorderedNonces'
      | 'transferWithAuthorization'
      | 'all'
      | 'deploy',
    args: readonly unknown[],
  ): Promise<Hash>;
  /** Places Permit2, the proxies of x402 and Multicall3, and lets Permit2 move what the payer has of a token. */
  placePermit2(token: Address): Promise<void>;
  /** Settles what the stock client signed, as JSON text, without a facilitator. */
  handIn(token: Address, authorization: string): Promise<Hash>;
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
  const harness: EvmHarness = {
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
    async placePermit2(token) {
      await harness.place('Multicall3', MULTICALL3);
      await harness.place('Permit2', PERMIT2_ADDRESS);
      await harness.place('UptoProxy', x402UptoPermit2ProxyAddress);
      await harness.place('ExactProxy', x402ExactPermit2ProxyAddress);
      await harness.send(token, 'approve', [PERMIT2_ADDRESS, maxUint256]);
    },
    handIn(token, text) {
      const { authorization, signature } = (JSON.parse(text) as SignedText).payload;
      const { from, to, value, validAfter, validBefore, nonce } = authorization;
      const times = [validAfter, validBefore].map((each) => BigInt(each!));
      return harness.send(token, 'transferWithAuthorization', [from, to, BigInt(value!), ...times, nonce, signature]);
    },
    async pass(seconds) {
      await node.request('evm_increaseTime', [seconds]);
      await node.mine(3);
    },
    stop: () => node.stop(),
  };
  return harness;
}
