import {
  concat,
  createPublicClient,
  encodeAbiParameters,
  encodeFunctionData,
  hashTypedData,
  http,
  keccak256,
  serializeErc6492Signature,
  type Address,
  type Hex,
  type TypedDataDefinition,
} from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { testAbi, type EvmHarness } from './evm-harness.js';
import type { Signer } from './signed-payload.js';

export { MULTICALL3 } from '../../src/rails/x402/settlement-lane.js';

const SALT: Hex = `0x${'5a'.repeat(32)}`;

/** What wallets with code there are on a chain. Each function makes another one, without money. */
export interface WalletsWithCode {
  /** Deploys the undeployed ones. */
  factory: Address;
  /** Signs in an envelope (EIP-1271), as smart accounts do. */
  deployed(): Promise<Signer>;
  /** The same, whose signatures contain its deployment (EIP-6492). */
  undeployed(factory?: Address): Promise<Signer & { deploy(): Promise<Hex> }>;
  /** An account with a key that has delegated to code (EIP-7702) which takes what its key signs. */
  delegated(): Promise<Signer>;
}

export async function walletsWithCode(chain: EvmHarness): Promise<WalletsWithCode> {
  const client = createPublicClient({ transport: http(chain.node.url) });
  const factory = await chain.deploy('WalletFactory');
  const delegate = await chain.deploy('DelegatedWallet');
  const undeployed = async (by: Address): Promise<Signer & { deploy(): Promise<Hex>; deployment: Hex }> => {
    const owner = privateKeyToAccount(generatePrivateKey());
    const args = [owner.address, SALT] as const;
    const address = await client.readContract({ address: by, abi: testAbi, functionName: 'addressOf', args });
    return {
      address,
      deploy: () => chain.send(by, 'deploy', args),
      deployment: encodeFunctionData({ abi: testAbi, functionName: 'deploy', args }),
      async signTypedData(asked) {
        const hash = hashTypedData(asked as TypedDataDefinition);
        const bound = keccak256(encodeAbiParameters([{ type: 'bytes32' }, { type: 'address' }], [hash, address]));
        const signature = await owner.sign({ hash: bound });
        return encodeAbiParameters([{ type: 'uint256' }, { type: 'bytes' }], [0n, signature]);
      },
    };
  };
  return {
    factory,
    async deployed() {
      const wallet = await undeployed(factory);
      await wallet.deploy();
      return wallet;
    },
    async undeployed(by = factory) {
      const { address, deployment: data, deploy, signTypedData } = await undeployed(by);
      return {
        address,
        deploy,
        signTypedData: async (asked) =>
          serializeErc6492Signature({ address: by, data, signature: await signTypedData(asked) }),
      };
    },
    async delegated() {
      const account = privateKeyToAccount(generatePrivateKey());
      await chain.node.request('anvil_setCode', [account.address, concat(['0xef0100', delegate])]);
      return account;
    },
  };
}
