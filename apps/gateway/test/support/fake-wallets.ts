import { findPayoutWallets } from '@market/contracts/identity';
import type { Transport } from '@market/messaging';
import { connectFake } from '@market/testing';
import { createHash } from 'node:crypto';
import { getAddress, type Address } from 'viem';

/** The wallet of a seller for which a test sets none. */
export const payoutOf = (sellerId: string): Address =>
  getAddress(`0x${createHash('sha256').update(sellerId).digest('hex').slice(0, 40)}`);

/**
 * A fake identity that answers the ledger's requests for the wallets of sellers. By default each seller has one for EVM
 * chains and none for Solana.
 */
export interface FakeWallets {
  /** Sets a seller's payout wallet; null for none. */
  set(sellerId: string, address: Address | null): void;
  /** Sets a seller's payout wallet on Solana. */
  setOnSolana(sellerId: string, address: string): void;
  /** The sellers that each request named. */
  readonly asked: string[][];
  stop(): Promise<void>;
}

export async function startFakeWallets(transport: Transport): Promise<FakeWallets> {
  const bySeller = new Map<string, Address | null>();
  const onSolana = new Map<string, string>();
  const asked: string[][] = [];
  const link = await connectFake(transport, 'identity', findPayoutWallets, ({ sellerIds, chainType }) => {
    asked.push(sellerIds);
    if (chainType === 'solana') return { payouts: sellerIds.map((id) => onSolana.get(id) ?? null) };
    return { payouts: sellerIds.map((id) => (bySeller.has(id) ? bySeller.get(id)! : payoutOf(id))) };
  });
  return {
    set: (sellerId, address) => void bySeller.set(sellerId, address),
    setOnSolana: (sellerId, address) => void onSolana.set(sellerId, address),
    asked,
    stop: async () => void (await link.server.close()),
  };
}
