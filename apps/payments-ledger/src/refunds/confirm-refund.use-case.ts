import type { InputOf } from '@market/contracts';
import { findPayoutWallets } from '@market/contracts/identity';
import { confirmRefund, type RefundView } from '@market/contracts/payments-ledger';
import { HandleRequest, MessageBus, principalOf, refuse, type RequestContext } from '@market/messaging';
import { Database, isUniqueViolation, recordOperatorAction, sql, type OperatorAction } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { toUsdAmount } from '../fees/usd-amount.js';
import { isSolana } from '../rails/x402/exact-payment.js';
import { lockTransaction, transactionIdOf } from '../rails/x402/token-transfers.js';
import { CompleteRefund } from './complete-refund.js';
import { refundColumns, toRefundView, type ShownRefundRow } from './refund.js';
import { TransfersOnChain } from './transfers-on-chain.js';

const find = sql(
  'refunds.find',
  `SELECT ${refundColumns}, p.gateway_request_id, p.listing_id, p.listing_name, p.listing_slug
   FROM refunds x JOIN payments p ON p.id = x.payment_id WHERE x.id = $1`,
);

const isPayout = sql(
  'payouts.has-transfer',
  'SELECT EXISTS (SELECT 1 FROM payouts WHERE network = $1 AND transaction_hash = $2 AND log_index = $3) AS found',
);

const NOT_FINAL_RETRY_SECONDS = 30;

/** A block states the time at which its slot began, by the clock of whoever made it. */
const BLOCK_TIME_TOLERANCE_MS = 15_000;

/** The operator and the command that the audit log records. */
type Operator = Pick<OperatorAction, 'operator' | 'command'>;

/**
 * Accepts the hash of a transfer as proof that a refund was paid, once the chain confirms it. A repetition changes
 * nothing.
 */
@Injectable()
export class ConfirmRefund {
  constructor(
    private readonly database: Database,
    private readonly bus: MessageBus,
    private readonly chains: TransfersOnChain,
    private readonly completeRefund: CompleteRefund,
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  /** Confirms a refund for the seller that owes it. */
  @HandleRequest(confirmRefund)
  async execute(
    { refund_id, transaction }: InputOf<typeof confirmRefund>,
    context: RequestContext,
  ): Promise<RefundView> {
    const { accountId } = principalOf(context);
    const refund = await this.find(refund_id);
    if (refund?.buyer_id !== accountId && refund?.seller_id !== accountId)
      throw refuse(confirmRefund, 'refund_not_found', {});
    if (refund.owed_by !== 'seller' || refund.seller_id !== accountId) throw refuse(confirmRefund, 'not_debtor', {});
    const { payouts } = await this.bus.request(
      findPayoutWallets,
      { sellerIds: [accountId], chainType: isSolana(refund.network) ? 'solana' : 'evm' },
      context,
    );
    await this.confirm(refund, transaction, payouts[0]!, context);
    return toRefundView((await this.find(refund.id))!, accountId, this.config.refundGraceDays);
  }

  /** Confirms a refund for the operator, which may pay any refund from any wallet. */
  async byOperator(refundId: string, transaction: string, by: Operator, context: RequestContext): Promise<void> {
    const refund = await this.find(refundId);
    if (!refund) throw refuse(confirmRefund, 'refund_not_found', {});
    await this.confirm(refund, transaction, undefined, context, by);
  }

  /** @param from the wallet that must have paid; null if the debtor has none, undefined if any wallet may pay. */
  private async confirm(
    refund: ShownRefundRow,
    transaction: string,
    from: string | null | undefined,
    context: RequestContext,
    by?: Operator,
  ): Promise<void> {
    if (refund.refunded_at) return;
    const { network, wallet } = refund;
    if (wallet === null) throw refuse(confirmRefund, 'refund_wallet_missing', {});
    const amountMicros = BigInt(refund.amount_micros);
    const transfers =
      from === null
        ? []
        : await this.chains.find(network, {
            transaction,
            from,
            to: wallet,
            atLeast: amountMicros,
            since: new Date(refund.due_since.getTime() - BLOCK_TIME_TOLERANCE_MS),
          });
    if (transfers === 'unknown_chain') throw refuse(confirmRefund, 'refund_not_checkable', { network });
    if (transfers === 'not_final')
      throw refuse(confirmRefund, 'transfer_not_final', { retry_after_seconds: NOT_FINAL_RETRY_SECONDS });
    if (transfers.length === 0)
      throw refuse(confirmRefund, 'transfer_not_found', { network, wallet, amount: toUsdAmount(amountMicros) });
    for (const logIndex of transfers) {
      try {
        const transfer = { transactionHash: transactionIdOf(transaction), logIndex };
        const isPaid = await this.database.transaction(async (tx) => {
          await lockTransaction(tx, transfer.transactionHash);
          const [payout] = await tx.query<{ found: boolean }>(isPayout, [network, transfer.transactionHash, logIndex]);
          if (payout!.found) return false;
          await this.completeRefund.execute(tx, refund, transfer, context);
          if (by) await recordOperatorAction(tx, { ...by, subject: refund.id, reason: transfer.transactionHash });
          return true;
        });
        if (isPaid) return;
      } catch (error) {
        if (!isUniqueViolation(error, 'refunds_transfer_once')) throw error;
      }
    }
    throw refuse(confirmRefund, 'transfer_used', {});
  }

  private async find(id: string): Promise<ShownRefundRow | undefined> {
    return (await this.database.query<ShownRefundRow>(find, [id]))[0];
  }
}
