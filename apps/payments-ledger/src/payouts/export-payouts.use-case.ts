import { newRequestContext } from '@market/messaging';
import { Database, recordOperatorAction, withParameters, sql } from '@market/persistence';
import { formatDecimal, type Micros } from '@market/kernel';
import { Injectable } from '@nestjs/common';
import type { Address } from 'viem';
import { DuePayouts, type DuePayout } from './due-payouts.query.js';

/** Whose wallet it is, so that a transfer to it is known as the seller's also when the seller has named another since. */
const remember = withParameters(
  { wallets: 'network text, wallet text, seller_id uuid, amount_micros bigint' },
  ({ wallets }) =>
    sql(
      'payout-wallets.remember',
      `INSERT INTO payout_wallets (${wallets.columns}, exported_at) SELECT *, now() FROM ${wallets.table}
       ON CONFLICT (network, wallet) DO UPDATE SET seller_id = excluded.seller_id, amount_micros = excluded.amount_micros, exported_at = now()`,
    ),
);

export type ExportedPayout = DuePayout & { wallet: Address };

export interface ExportedPayouts {
  payouts: ExportedPayout[];
  /** Of sellers that have no wallet to be paid to. */
  withoutWallet: DuePayout[];
}

/** Lists what is due to sellers and remembers the wallets that are named, so that transfers to them can be confirmed. Nothing is paid by it. */
@Injectable()
export class ExportPayouts {
  constructor(
    private readonly database: Database,
    private readonly due: DuePayouts,
  ) {}

  async execute(
    minimumMicros: Micros,
    network: string | null,
    { operator, command }: { operator: string; command: string },
  ): Promise<ExportedPayouts> {
    const due = await this.due.list(minimumMicros, network, newRequestContext());
    const payouts = due.filter((payout): payout is ExportedPayout => payout.wallet !== null);
    const total = payouts.reduce((sum, { amountMicros }) => sum + amountMicros, 0n);
    if (payouts.length > 0)
      await this.database.transaction(async (tx) => {
        const wallets = payouts.map((payout) => ({
          network: payout.network,
          wallet: payout.wallet,
          seller_id: payout.sellerId,
          amount_micros: payout.amountMicros,
        }));
        tx.send(remember, remember.values({ wallets }));
        const subject = `${payouts.length} payouts of $${formatDecimal(total, 6)}`;
        await recordOperatorAction(tx, { operator, command, subject, reason: null });
      });
    return { payouts, withoutWallet: due.filter(({ wallet }) => wallet === null) };
  }
}
