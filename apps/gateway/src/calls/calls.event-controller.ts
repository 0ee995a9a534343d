import { paymentArrived, paymentCompleted, paymentRefundDue, paymentRefunded } from '@market/contracts/payments-ledger';
import { HandleEvent, type ReceivedEvent } from '@market/messaging';
import { batchSql, sql, type Tx } from '@market/persistence';
import { Controller } from '@nestjs/common';
import { CallEvidence } from '../quality/call-evidence.js';
import { CallRecords } from './call-records.js';

/** An abandoned call has been completed: it stays as it is if the event of its payment arrives after that. */
const markPaid = batchSql(
  `UPDATE gateway_requests g SET status = 'paid', transaction_hash = p.transaction_hash, offer_expires_at = p.retry_until
   FROM unnest($1::uuid[], $2::text[], $3::timestamptz[]) AS p (id, transaction_hash, retry_until)
   WHERE g.id = p.id AND g.status IN ('payment_required', 'payment_pending') AND g.completed_at IS NULL`,
);
const markRefunded = sql(
  'gateway-requests.mark-refunded',
  `UPDATE gateway_requests SET status = 'refunded', billable = false, job_until = NULL, completed_at = coalesce(completed_at, now())
   WHERE id = ANY($1::uuid[])`,
);

/** `paymentRefunded` may arrive before `paymentRefundDue`, so the status of the call is not checked. */
const markPaidBack = batchSql(
  `UPDATE gateway_requests g SET refund_transaction_hash = r.transaction_hash
   FROM unnest($1::uuid[], $2::text[]) AS r (id, transaction_hash) WHERE g.id = r.id`,
);

/**
 * Writes what the ledger decided into the history of calls, and records the results of calls as evidence of quality.
 * Quotes are written first, because money may arrive before they are in the history.
 */
@Controller()
export class CallsEventController {
  constructor(
    private readonly evidence: CallEvidence,
    private readonly records: CallRecords,
  ) {}

  @HandleEvent(paymentCompleted)
  async onPaymentCompleted(events: ReceivedEvent<typeof paymentCompleted>[], tx: Tx): Promise<void> {
    await this.evidence.add(
      tx,
      events.map(({ payload }) => ({ ...payload, callId: payload.gatewayRequestId })),
    );
  }

  @HandleEvent(paymentArrived)
  async onPaymentArrived(events: ReceivedEvent<typeof paymentArrived>[], tx: Tx): Promise<void> {
    await this.records.flush();
    tx.send(markPaid, [
      events.map(({ payload }) => payload.gatewayRequestId),
      events.map(({ payload }) => payload.transactionHash),
      events.map(({ payload }) => payload.retryUntil),
    ]);
  }

  /** The refund of a surplus, or of what a call did not use, does not change the call that was paid. */
  @HandleEvent(paymentRefundDue)
  async onPaymentRefundDue(events: ReceivedEvent<typeof paymentRefundDue>[], tx: Tx): Promise<void> {
    await this.records.flush();
    const undelivered = events.filter(({ payload }) => isOfCall(payload.reason));
    tx.send(markRefunded, [undelivered.map(({ payload }) => payload.gatewayRequestId)]);
  }

  @HandleEvent(paymentRefunded)
  async onPaymentRefunded(events: ReceivedEvent<typeof paymentRefunded>[], tx: Tx): Promise<void> {
    await this.records.flush();
    const whole = events.filter(({ payload }) => payload.isWhole && isOfCall(payload.reason));
    tx.send(markPaidBack, [
      whole.map(({ payload }) => payload.gatewayRequestId),
      whole.map(({ payload }) => payload.transactionHash),
    ]);
  }
}

const isOfCall = (reason: string): boolean => reason === 'not_delivered' || reason === 'paid_late';
