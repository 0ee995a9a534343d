import { generateKeyPairSigner, type Address, type Signature } from '@solana/kit';
import { startLedger, type LedgerWorld, type Offered } from './ledger-world.js';
import { onChainOffers, type OnChainOffers } from './on-chain-offers.js';
import { startSolanaWorld, type Mint, type SolanaWorld } from './solana-world.js';

export const SOLANA_SEED = Buffer.alloc(32, 12);

/** The ledger with its Solana rail on a chain of its own, where `usdc` is USDC. */
export interface SolanaLedger extends OnChainOffers {
  chain: SolanaWorld;
  ledger: LedgerWorld;
  usdc: Mint;
  env: Record<string, string>;
  /** For offers on this chain. */
  onChain: { originChainId: string };
  /** Pays an offer, with USDC out of `mint` where it is not the right one. */
  send(offered: Offered, value: bigint, mint?: Mint): Promise<Signature>;
  final(): void;
  stop(): Promise<void>;
}

export interface SolanaLedgerOptions {
  /** Has an account of the operator for offers of little SOL. */
  hasReceiver?: boolean;
  /** Makes USDC a token of Token-2022 with this fee on transfers. */
  usdcFeeBps?: number;
  replicas?: number;
  env?: Record<string, string>;
  /** RPC servers instead of the chain's own. */
  rpcUrls?: (chain: SolanaWorld) => string[];
}

export async function startSolanaLedger({ usdcFeeBps, hasReceiver = false, replicas = 1, env: changes = {}, rpcUrls = ({ node }) => [node.url] }: SolanaLedgerOptions = {}): Promise<SolanaLedger> {
  const chain = await startSolanaWorld();
  const usdc = await chain.mint(usdcFeeBps);
  const receiver = (await generateKeyPairSigner()).address;
  await chain.sendCoin(receiver, 1_000_000n);
  // What is not final yet, the mint included, is not there for the rail.
  chain.node.finalize();
  const { network } = chain.node;
  const env = {
    PAYMENTS_LEDGER_SOLANA_SEED: SOLANA_SEED.toString('hex'),
    PAYMENTS_LEDGER_SOLANA_RPC_URLS: `${network}=${rpcUrls(chain).join('|')}`,
    // The chain answers from this very process, where a hundred offers at once have to wait for one another.
    PAYMENTS_LEDGER_SOLANA_RPC_TIMEOUT_MS: '60000',
    PAYMENTS_LEDGER_SOLANA_USDC: `${network}=${usdc.address}`,
    ...(hasReceiver && { PAYMENTS_LEDGER_SOLANA_RECEIVER: receiver }),
  };
  const ledger = await startLedger({ replicas, env: { PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '100', ...env, ...changes } });
  return {
    chain,
    ledger,
    usdc,
    env,
    onChain: { originChainId: network },
    send({ offer: { requirements } }, value, mint = usdc) {
      const to = requirements.depositAddress as Address;
      if (requirements.reference !== undefined) return chain.send([chain.coinTransfer(to, value, requirements.reference as Address)]);
      return requirements.currency === 'SOL' ? chain.sendCoin(to, value) : chain.sendToken(mint, to, value);
    },
    final: () => chain.node.finalize(),
    ...onChainOffers(ledger),
    async stop() {
      await ledger.stop();
      chain.stop();
    },
  };
}
