import { HDKey, mnemonicToAccount } from 'viem/accounts';
import { bytesToHex, type Address } from 'viem';
import { startEvmWorld, type EvmWorld, type TestContract } from './evm-world.js';
import { startLedger, type LedgerWorld, type Offered } from './ledger-world.js';
import { onChainOffers, type OnChainOffers } from './on-chain-offers.js';

export const ON_CHAIN = { originChainId: '31337' };

/** The ledger with its EVM rail on a chain of its own, where `usdc` is USDC. */
export interface EvmLedger extends OnChainOffers {
  chain: EvmWorld;
  ledger: LedgerWorld;
  usdc: Address;
  env: Record<string, string>;
  send(offered: Offered, value: bigint): Promise<unknown>;
  final(): Promise<void>;
  stop(): Promise<void>;
}

export interface EvmLedgerOptions {
  token?: TestContract;
  replicas?: number;
  env?: Record<string, string>;
  /** RPC servers instead of the chain's own. */
  rpcUrls?: (chain: EvmWorld) => string[];
  /** Taken beside it by the same ledger, where a contract of the same address is USDC, if any is. */
  otherChains?: EvmWorld[];
}

export async function startEvmLedger({ token = 'SignedToken', replicas = 1, env: changes = {}, rpcUrls = ({ node }) => [node.url], otherChains = [] }: EvmLedgerOptions = {}): Promise<EvmLedger> {
  const chain = await startEvmWorld();
  const usdc = await chain.deploy(token);
  await chain.mint(usdc, chain.payer, 10n ** 15n);
  // What is not final yet, the token's code included, is not there for the rail.
  await chain.node.mine(2);
  const env = {
    PAYMENTS_LEDGER_EVM_XPUB: HDKey.fromMasterSeed(Buffer.alloc(32, 11)).publicExtendedKey,
    PAYMENTS_LEDGER_EVM_RPC_URLS: [`eip155:31337=${rpcUrls(chain).join('|')}`, ...otherChains.map(({ node }) => `eip155:${node.chainId}=${node.url}`)].join(','),
    PAYMENTS_LEDGER_EVM_USDC: [chain, ...otherChains].map(({ node }) => `eip155:${node.chainId}=${usdc}`).join(','),
    PAYMENTS_LEDGER_X402_FACILITATOR_KEY: bytesToHex(mnemonicToAccount(chain.node.mnemonic, { addressIndex: 3 }).getHdKey().privateKey!),
  };
  const ledger = await startLedger({ replicas, env: { PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '100', ...env, ...changes } });
  return {
    chain,
    ledger,
    usdc,
    env,
    send: ({ offer: { requirements } }, value) => (requirements.currency === 'ETH' ? chain.sendCoin(requirements.depositAddress as Address, value) : chain.sendToken(usdc, requirements.depositAddress as Address, value)),
    final: () => chain.node.mine(2),
    ...onChainOffers(ledger),
    async stop() {
      await ledger.stop();
      await chain.stop();
    },
  };
}
