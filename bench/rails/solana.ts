import type { Address } from '@solana/kit';
import { SolanaRail } from '../../apps/payments-ledger/src/rails/solana/solana.rail.js';
import { startSolanaWorld } from '../../apps/payments-ledger/test/support/solana-world.js';
import { compare, type Compared } from './compare.js';
import { observeExactly, PRICE_IN_LAMPORTS, PRICE_MICROS, watchedOffer } from './watched-offer.js';

/** Transfers on litesvm behind JSON-RPC, which runs in this process and costs both sides alike. */
export async function compareSolana(times: number): Promise<Compared[]> {
  const world = await startSolanaWorld();
  try {
    const { rpc, node } = world;
    const mint = await world.mint();
    node.finalize();
    const rail = new SolanaRail({
      seed: Buffer.alloc(32, 12),
      chains: [{ network: node.network, rpcUrls: [node.url], usdc: mint.address }],
      minimumMicros: { USDC: 0n, SOL: 0n },
      requestTimeoutMs: 5_000,
      maxHeadAgeSeconds: 120,
    });
    const [unpaid, inUsdc, inSol] = [await watchedOffer(rail, 'USDC', PRICE_MICROS), await watchedOffer(rail, 'USDC', PRICE_MICROS), await watchedOffer(rail, 'SOL', PRICE_IN_LAMPORTS)];
    await world.sendToken(mint, inUsdc.depositAddress as Address, PRICE_MICROS);
    await world.sendCoin(inSol.depositAddress as Address, PRICE_IN_LAMPORTS);
    node.finalize();
    const account = await world.accountOf(mint, inUsdc.depositAddress as Address);
    const notThere = await world.accountOf(mint, unpaid.depositAddress as Address);
    return [
      await compare(times, 'Solana, USDC, not paid: observe', 'getAccountInfo', () => rpc.getAccountInfo(notThere, { commitment: 'finalized', encoding: 'base64' }).send(), () => observeExactly(rail, unpaid, 0n)),
      await compare(times, 'Solana, USDC, paid: observe', 'getAccountInfo', () => rpc.getAccountInfo(account, { commitment: 'finalized', encoding: 'base64' }).send(), () => observeExactly(rail, inUsdc, PRICE_MICROS)),
      await compare(times, 'Solana, SOL, paid: observe', 'getBalance', () => rpc.getBalance(inSol.depositAddress as Address, { commitment: 'finalized' }).send(), () => observeExactly(rail, inSol, PRICE_IN_LAMPORTS)),
    ];
  } finally {
    world.stop();
  }
}
