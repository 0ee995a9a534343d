import { newRequestContext } from '@market/messaging';
import { Database, recordOperatorAction, withParameters, sql } from '@market/persistence';
import { formatDecimal, type Micros } from '@market/kernel';
import { Injectable } from '@nestjs/common';
import type { Address } from 'viem';
import { DuePayouts, type DuePayout } from './due-payouts.query.js';

/**
 * Stores which seller a wallet belongs to, so that a transfer to it can be assigned to the seller even after the seller
 * has chosen another wallet. A wallet that another export named after `asOf` is skipped.
 */
const remember = withParameters(
  { wallets: 'network text, wallet text, seller_id uuid, amount_micros bigint', asOf: 'timestamptz' },
  ({ wallets, asOf }) =>
    sql(
      'payout-wallets.remember',
      `INSERT INTO payout_wallets (${wallets.columns}, exported_at) SELECT *, clock_timestamp() FROM ${wallets.table}
       ON CONFLICT (network, wallet) DO UPDATE SET
         seller_id = excluded.seller_id, amount_micros = excluded.amount_micros, exported_at = excluded.exported_at
       WHERE payout_wallets.exported_at <= ${asOf} RETURNING network, wallet`,
    ),
);

export type ExportedPayout = DuePayout & { wallet: Address };

export interface ExportedPayouts {
  payouts: ExportedPayout[];
  /** Payouts to wallets that an earlier export named, without a confirmed payout since then. */
  open: DuePayout[];
  /** Payouts to sellers without a payout wallet. */
  withoutWallet: DuePayout[];
}

/**
 * Lists what is due to sellers and stores the wallets, so that transfers to them can be confirmed. It pays nothing. A
 * payout of an earlier export may have been paid already, so it is exported again only if the operator requests it.
 */
@Injectable()
export class ExportPayouts {
  constructor(
    private readonly database: Database,
    private readonly due: DuePayouts,
  ) {}

  /** @param again the seller whose payouts are exported again, or `all`. */
  async execute(
    { minimumMicros, network, again }: { minimumMicros: Micros; network: string | null; again: string | undefined },
    { operator, command }: { operator: string; command: string },
  ): Promise<ExportedPayouts> {
    const due = await this.due.list(minimumMicros, network, newRequestContext());
    const payable = due.filter((payout): payout is ExportedPayout => payout.wallet !== null);
    const wanted = payable.filter(
      ({ unconfirmedSince, sellerId }) => unconfirmedSince === null || again === 'all' || again === sellerId,
    );
    const payouts = await this.remember(wanted, { operator, command });
    return {
      payouts,
      open: payable.filter((payout) => !payouts.includes(payout)),
      withoutWallet: due.filter(({ wallet }) => wallet === null),
    };
  }

  /** @returns the payouts that no other export has named meanwhile. */
  private async remember(
    wanted: ExportedPayout[],
    by: { operator: string; command: string },
  ): Promise<ExportedPayout[]> {
    const [first] = wanted;
    if (!first) return [];
    return this.database.transaction(async (tx) => {
      const wallets = wanted.map((payout) => ({
        network: payout.network,
        wallet: payout.wallet,
        seller_id: payout.sellerId,
        amount_micros: payout.amountMicros,
      }));
      const named = await tx.query<{ network: string; wallet: string }>(
        remember,
        remember.values({ wallets, asOf: first.asOf }),
      );
      const payouts = wanted.filter(({ network, wallet }) =>
        named.some((row) => row.network === network && row.wallet === wallet),
      );
      const total = payouts.reduce((sum, { amountMicros }) => sum + amountMicros, 0n);
      const subject = `${payouts.length} payouts of $${formatDecimal(total, 6)}`;
      if (payouts.length > 0) await recordOperatorAction(tx, { ...by, subject, reason: null });
      return payouts;
    });
  }
}
