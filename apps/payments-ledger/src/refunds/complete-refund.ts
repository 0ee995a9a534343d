import { paymentRefunded } from '@market/contracts/payments-ledger';
import type { RequestContext } from '@market/messaging';
import { Outbox, sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { FeeStandings } from '../fees/fee-standings.js';
import { Journal } from '../journal/journal.js';
import { refunded } from '../journal/posting.js';
import { isForSale } from '../payments/payment.js';
import { ReconcilePayment } from '../payments/reconcile-payment.js';
import { invariant } from '@market/kernel';
import { refundColumns, type RefundRow } from './refund.js';

const pay = sql(
  'refunds.pay',
  `UPDATE refunds x SET transaction_hash = $2, log_index = $3, refunded_at = now(), is_overdue = false WHERE id = $1 AND refunded_at IS NULL
   RETURNING ${refundColumns}, NOT EXISTS (
     SELECT 1 FROM refunds o WHERE o.payment_id = x.payment_id AND o.id <> x.id AND o.refunded_at IS NULL) AS is_whole`,
);
const close = sql('payments.refunded', `UPDATE payments SET state = 'refunded' WHERE id = $1 AND state = 'refund_due'`);

/** The transfer that paid a refund. */
interface RefundTransfer {
  transactionHash: string;
  logIndex: number;
}

/**
 * Records a paid refund in one commit: the refund, the journal entry, the end of its payment, the standing of its
 * seller and the event.
 */
@Injectable()
export class CompleteRefund {
  constructor(
    private readonly reconcilePayment: ReconcilePayment,
    private readonly journal: Journal,
    private readonly standings: FeeStandings,
    private readonly outbox: Outbox,
  ) {}

  /** Does nothing if the refund is paid already. The lock of the payment serializes the refunds of one payment. */
  async execute(
    tx: Tx,
    { id, payment_id }: Pick<RefundRow, 'id' | 'payment_id'>,
    { transactionHash, logIndex }: RefundTransfer,
    context: Pick<RequestContext, 'requestId' | 'traceparent'>,
  ): Promise<void> {
    const payment = await this.reconcilePayment.lock(tx, payment_id);
    const [refund] = await tx.query<RefundRow & { is_whole: boolean }>(pay, [id, transactionHash, logIndex]);
    if (!refund) return;
    invariant(isForSale(payment), 'fees owe nothing back');
    const { reason, owed_by: owedBy, seller_id: sellerId, buyer_id: buyerId, network, wallet } = refund;
    const entry = refunded({
      paymentId: payment.id,
      buyerId,
      sellerId,
      rail: payment.rail,
      amountMicros: BigInt(refund.amount_micros),
      reason,
      owedBy,
    });
    this.journal.record(tx, [{ entry, payment, refund, context }], payment.as_of);
    if (refund.is_whole) await tx.query(close, [payment.id]);
    if (owedBy === 'seller') await this.standings.review(tx, sellerId, context);
    this.outbox.add(
      tx,
      paymentRefunded,
      {
        refundId: id,
        paymentId: payment.id,
        gatewayRequestId: payment.gateway_request_id,
        buyerId,
        sellerId,
        listingId: payment.listing_id,
        amountMicros: refund.amount_micros,
        reason,
        owedBy,
        network,
        wallet,
        transactionHash,
        isWhole: refund.is_whole,
        at: payment.as_of.toISOString(),
      },
      context,
    );
  }
}
