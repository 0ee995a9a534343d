import type { Micros } from '@market/kernel';
import type { RequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { SellerWallets } from '../rails/seller-wallets.js';

const due = sql(
  'accounts.to-pay-out',
  `SELECT d.seller_id, d.network, d.balance_micros, e.exported_at, now() AS as_of
   FROM (
     SELECT owner_id AS seller_id, split_part(address, ':earnings:x402:', 2) AS network, balance_micros
     FROM balances WHERE address LIKE 'agent:%:earnings:x402:%' AND balance_micros >= $1
   ) d
   LEFT JOIN LATERAL (
     SELECT max(w.exported_at) AS exported_at FROM payout_wallets w WHERE w.seller_id = d.seller_id AND w.network = d.network
       AND NOT EXISTS (SELECT 1 FROM payouts y WHERE y.seller_id = d.seller_id AND y.network = d.network AND y.confirmed_at > w.exported_at)
   ) e ON true
   WHERE $2::text IS NULL OR d.network = $2 ORDER BY d.network, d.seller_id`,
);

/** What the operator received for a seller through signed payments on a network and has not paid to it yet. */
export interface DuePayout {
  sellerId: string;
  network: string;
  /** The current payout wallet of the seller; null if it has no wallet that may be paid. */
  wallet: string | null;
  amountMicros: Micros;
  /** The time of the last export, if no payout was confirmed since then. The payout may have been paid already. */
  unconfirmedSince: Date | null;
  /** The time of the database at which the row was read. */
  asOf: Date;
}

/** Lists what is due to sellers. It requests the wallets from identity in groups of up to 128 sellers. */
@Injectable()
export class DuePayouts {
  constructor(
    private readonly database: Database,
    private readonly sellers: SellerWallets,
  ) {}

  async list(minimumMicros: Micros, network: string | null, context: RequestContext): Promise<DuePayout[]> {
    const rows = await this.database.query<{
      seller_id: string;
      network: string;
      balance_micros: string;
      exported_at: Date | null;
      as_of: Date;
    }>(due, [minimumMicros > 0n ? minimumMicros : 1n, network]);
    const wallets = await this.sellers.find(
      rows.map(({ seller_id }) => seller_id),
      'evm',
      context,
    );
    return rows.map((row, index) => ({
      sellerId: row.seller_id,
      network: row.network,
      wallet: wallets[index] ?? null,
      amountMicros: BigInt(row.balance_micros),
      unconfirmedSince: row.exported_at,
      asOf: row.as_of,
    }));
  }
}
