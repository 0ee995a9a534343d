import { compiledContracts, startEvmNode, type EvmNode } from '@market/testing';
import {
  createWalletClient,
  encodeFunctionData,
  getAddress,
  http,
  parseAbi,
  publicActions,
  serializeErc6492Signature,
  type Abi,
  type Address,
  type Hex,
} from 'viem';
import { generatePrivateKey, mnemonicToAccount, privateKeyToAccount } from 'viem/accounts';
import type { TestWallet } from './test-wallets.js';

const FACTORY = parseAbi([
  'function deploy(address owner, bytes32 salt) returns (address)',
  'function addressOf(address owner, bytes32 salt) view returns (address)',
]);
const OWNED = parseAbi(['function handOver(address next)']);
const SALT: Hex = `0x${'5a'.repeat(32)}`;

export interface SmartAccounts {
  node: EvmNode;
  deploy(contract: 'EndlessWallet' | 'DirtyWallet'): Promise<Address>;
  /** A contract wallet with its own key. */
  deployed(): Promise<TestWallet>;
  /** The same before the contract is deployed; its signatures include the deployment. */
  counterfactual(): Promise<TestWallet & { deploy(): Promise<void> }>;
  /** A contract wallet of the chain's funded account, and a function that transfers its ownership. */
  ofTheRich(): Promise<TestWallet & { handOver(to: Address): Promise<void> }>;
  stop(): Promise<void>;
}

/** Starts a local chain with EIP-1271 and EIP-6492 wallets, compiled from `contracts/wallets.sol`. */
export async function startSmartAccounts(chainId: number): Promise<SmartAccounts> {
  const node = await startEvmNode({ chainId });
  const rich = mnemonicToAccount(node.mnemonic);
  const chain = {
    id: chainId,
    name: 'test',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [node.url] } },
  };
  const client = createWalletClient({ account: rich, chain, transport: http(node.url), pollingInterval: 20 }).extend(
    publicActions,
  );
  const contracts = compiledContracts<Abi>(new URL('./contracts/wallets.sol', import.meta.url));
  const deploy = async (name: string, args: readonly unknown[] = []): Promise<Address> => {
    const contract = contracts[name]!;
    const hash = await client.deployContract({ ...contract, args });
    return getAddress((await client.waitForTransactionReceipt({ hash })).contractAddress!);
  };
  const mined = async (sent: Promise<Hex>): Promise<void> =>
    void (await client.waitForTransactionReceipt({ hash: await sent }));
  const factory = await deploy('WalletFactory');
  return {
    node,
    deploy,
    async deployed() {
      const owner = privateKeyToAccount(generatePrivateKey());
      return {
        address: await deploy('OwnedWallet', [owner.address]),
        sign: (message) => owner.signMessage({ message }),
      };
    },
    async counterfactual() {
      const owner = privateKeyToAccount(generatePrivateKey());
      const address = await client.readContract({
        address: factory,
        abi: FACTORY,
        functionName: 'addressOf',
        args: [owner.address, SALT],
      });
      const data = encodeFunctionData({ abi: FACTORY, functionName: 'deploy', args: [owner.address, SALT] });
      return {
        address,
        sign: async (message) =>
          serializeErc6492Signature({ address: factory, data, signature: await owner.signMessage({ message }) }),
        deploy: () => mined(client.sendTransaction({ to: factory, data })),
      };
    },
    async ofTheRich() {
      const address = await deploy('OwnedWallet', [rich.address]);
      return {
        address,
        sign: (message) => rich.signMessage({ message }),
        handOver: (to) => mined(client.writeContract({ address, abi: OWNED, functionName: 'handOver', args: [to] })),
      };
    },
    stop: () => node.stop(),
  };
}
