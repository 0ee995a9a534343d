import { findPayoutWallets } from '@market/contracts/identity';
import { refundOverdue } from '@market/contracts/payments-ledger';
import { MessageBus, newRequestContext } from '@market/messaging';
import { Database, Outbox, sql } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { FeeStandings } from '../fees/fee-standings.js';
import { isSolana } from '../rails/x402/exact-payment.js';
import { CompleteRefund } from './complete-refund.js';
import type { RefundRow } from './refund.js';

const PAGE = 100;

const ofSandbox = sql(
  'refunds.of-sandbox',
  `SELECT x.id, x.payment_id FROM refunds x JOIN payments p ON p.id = x.payment_id
   WHERE x.refunded_at IS NULL AND p.rail = 'sandbox' AND x.due_since <= now() - $1 * interval '1 second'
   ORDER BY x.due_since LIMIT ${PAGE}`,
);
/** Selected at random, so that buyers without a wallet do not delay the others. */
const withoutWallet = sql(
  'refunds.without-wallet',
  `SELECT x.id, x.buyer_id, x.network FROM refunds x JOIN payments p ON p.id = x.payment_id
   WHERE x.refunded_at IS NULL AND x.wallet IS NULL AND p.rail <> 'sandbox' ORDER BY random() LIMIT ${PAGE}`,
);
const setWallets = sql(
  'refunds.set-wallets',
  `UPDATE refunds x SET wallet = w.wallet, payable_since = now() FROM unnest($1::uuid[], $2::text[]) AS w (id, wallet)
   WHERE x.id = w.id AND x.wallet IS NULL AND w.wallet IS NOT NULL`,
);
const markOverdue = sql(
  'refunds.mark-overdue',
  `UPDATE refunds SET is_overdue = true WHERE id IN (
     SELECT id FROM refunds
     WHERE refunded_at IS NULL AND owed_by = 'seller' AND NOT is_overdue AND payable_since < now() - $1 * interval '1 day'
     ORDER BY due_since LIMIT 1 FOR UPDATE SKIP LOCKED)
   RETURNING id, seller_id, now() AS as_of`,
);

/**
 * Pays the refunds of the sandbox, finds the wallets for other refunds, and marks refunds that are not paid in time as
 * overdue.
 */
@Injectable()
export class RefundPayments implements OnApplicationBootstrap {
  constructor(
    private readonly database: Database,
    private readonly bus: MessageBus,
    private readonly completeRefund: CompleteRefund,
    private readonly standings: FeeStandings,
    private readonly outbox: Outbox,
    private readonly jobs: Jobs,
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.every('refund-payments', this.config.sweepIntervalMs, () => this.run());
  }

  async run(): Promise<void> {
    await this.payInSandbox();
    while (await this.markOneOverdue());
    await this.findWallets();
  }

  /** A transfer of the sandbox consists of a hash only, which is the same in every process. */
  private async payInSandbox(): Promise<void> {
    const due = await this.database.query<Pick<RefundRow, 'id' | 'payment_id'>>(ofSandbox, [
      this.config.sandboxRefundSeconds,
    ]);
    for (const refund of due) {
      const transactionHash = `0x${createHash('sha256').update(`refund ${refund.id}`).digest('hex')}`;
      await this.database.transaction((tx) =>
        this.completeRefund.execute(tx, refund, { transactionHash, logIndex: 0 }, newRequestContext()),
      );
    }
  }

  private async findWallets(): Promise<void> {
    const refunds = await this.database.query<Pick<RefundRow, 'id' | 'buyer_id' | 'network'>>(withoutWallet);
    for (const chainType of ['evm', 'solana'] as const) {
      const onChain = refunds.filter(({ network }) => isSolana(network) === (chainType === 'solana'));
      if (onChain.length === 0) continue;
      const { payouts } = await this.bus.request(
        findPayoutWallets,
        { sellerIds: onChain.map(({ buyer_id }) => buyer_id), chainType },
        newRequestContext(),
      );
      await this.database.query(setWallets, [onChain.map(({ id }) => id), payouts]);
    }
  }

  private markOneOverdue(): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const [refund] = await tx.query<{ id: string; seller_id: string; as_of: Date }>(markOverdue, [
        this.config.refundGraceDays,
      ]);
      if (!refund) return false;
      const context = newRequestContext();
      await this.standings.review(tx, refund.seller_id, context);
      const { id: refundId, seller_id: sellerId, as_of } = refund;
      this.outbox.add(tx, refundOverdue, { refundId, sellerId, at: as_of.toISOString() }, context);
      return true;
    });
  }
}
