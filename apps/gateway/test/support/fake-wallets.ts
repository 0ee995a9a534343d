import { topology, type InputOf, type OutputOf } from '@market/contracts';
import { findPayoutWallets } from '@market/contracts/identity';
import { HandleRequest, type Transport } from '@market/messaging';
import { Controller, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { MicroserviceOptions } from '@nestjs/microservices';
import { createHash } from 'node:crypto';
import { getAddress, type Address } from 'viem';

class Payouts {
  readonly bySeller = new Map<string, string | null>();
  readonly onSolana = new Map<string, string>();
  asked: string[][] = [];
}

@Controller()
class WalletsController {
  constructor(private readonly payouts: Payouts) {}

  @HandleRequest(findPayoutWallets)
  async findPayoutWallets({
    sellerIds,
    chainType,
  }: InputOf<typeof findPayoutWallets>): Promise<OutputOf<typeof findPayoutWallets>> {
    this.payouts.asked.push(sellerIds);
    if (chainType === 'solana') return { payouts: sellerIds.map((id) => this.payouts.onSolana.get(id) ?? null) };
    return {
      payouts: sellerIds.map((id) => {
        const known = this.payouts.bySeller.get(id);
        return known === undefined ? payoutOf(id) : known;
      }),
    };
  }
}

/** The wallet of a seller that was told none. */
export const payoutOf = (sellerId: string): Address =>
  getAddress(`0x${createHash('sha256').update(sellerId).digest('hex').slice(0, 40)}`);

/** Identity as far as the ledger asks it for the wallets of sellers: each has one of EVM chains and none of Solana, unless a test says otherwise. */
export interface FakeWallets {
  /** A seller's payout wallet from now on; null for none. */
  set(sellerId: string, address: Address | null): void;
  /** A seller's payout wallet on Solana from now on. */
  setOnSolana(sellerId: string, address: string): void;
  /** The sellers that each request named. */
  readonly asked: string[][];
  stop(): Promise<void>;
}

export async function startFakeWallets(transport: Transport): Promise<FakeWallets> {
  const payouts = new Payouts();
  @Module({ controllers: [WalletsController], providers: [{ provide: Payouts, useValue: payouts }] })
  class WalletsModule {}
  const link = await transport.connect('identity', topology.identity);
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(WalletsModule, {
    strategy: link.server,
    logger: false,
  });
  await app.listen();
  return {
    set: (sellerId, address) => void payouts.bySeller.set(sellerId, address),
    setOnSolana: (sellerId, address) => void payouts.onSolana.set(sellerId, address),
    asked: payouts.asked,
    stop: () => app.close(),
  };
}
