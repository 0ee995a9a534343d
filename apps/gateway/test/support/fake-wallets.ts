import { findPayoutWallets } from '@market/contracts/identity';
import type { Transport } from '@market/messaging';
import { connectFake } from '@market/testing';
import { createHash } from 'node:crypto';
import { getAddress, type Address } from 'viem';

/** The wallet of a seller for which a test has set none. */
export const payoutOf = (sellerId: string): Address =>
  getAddress(`0x${createHash('sha256').update(sellerId).digest('hex').slice(0, 40)}`);

/** Identity as far as the ledger asks it for the wallets of sellers: each has one, unless a test says otherwise. */
export interface FakeWallets {
  /** A seller's payout wallet from now on; null for none. */
  set(sellerId: string, address: Address | null): void;
  /** The sellers that each request named. */
  readonly asked: string[][];
  stop(): Promise<void>;
}

export async function startFakeWallets(transport: Transport): Promise<FakeWallets> {
  const bySeller = new Map<string, Address | null>();
  const asked: string[][] = [];
  const link = await connectFake(transport, 'identity', findPayoutWallets, ({ sellerIds }) => {
    asked.push(sellerIds);
    return { payouts: sellerIds.map((id) => (bySeller.has(id) ? bySeller.get(id)! : payoutOf(id))) };
  });
  return {
    set: (sellerId, address) => void bySeller.set(sellerId, address),
    asked,
    stop: async () => void (await link.server.close()),
  };
}
