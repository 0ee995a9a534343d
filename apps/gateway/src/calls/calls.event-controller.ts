import { callFailed } from '@market/contracts/gateway';
import { paymentCompleted, paymentRefundDue, paymentRefunded } from '@market/contracts/payments-ledger';
import { HandleEvent, type ReceivedEvent } from '@market/messaging';
import { batchSql, sql, type Tx } from '@market/persistence';
import { Controller } from '@nestjs/common';
import { CallEvidence } from '../quality/call-evidence.js';

const markSettled = batchSql(
  `UPDATE gateway_requests g SET settled_at = s.at, transaction_hash = coalesce(s.transaction_hash, g.transaction_hash)
   FROM unnest($1::uuid[], $2::timestamptz[], $3::text[]) AS s (id, at, transaction_hash) WHERE g.id = s.id AND g.settled_at IS NULL`,
);
const markRefunded = sql(
  'gateway-requests.mark-refunded',
  `UPDATE gateway_requests SET status = 'refunded', billable = false, completed_at = coalesce(completed_at, now())
   WHERE id = ANY($1::uuid[])`,
);

/** `paymentRefunded` may arrive before `paymentRefundDue`, so the status of the call is not checked. */
const markPaidBack = batchSql(
  `UPDATE gateway_requests g SET refund_transaction_hash = r.transaction_hash
   FROM unnest($1::uuid[], $2::text[]) AS r (id, transaction_hash) WHERE g.id = r.id`,
);

/**
 * Writes what the ledger decided into the history of calls, and records the results of calls as evidence of quality.
 */
@Controller()
export class CallsEventController {
  constructor(private readonly evidence: CallEvidence) {}

  @HandleEvent(paymentCompleted)
  async onPaymentCompleted(events: ReceivedEvent<typeof paymentCompleted>[], tx: Tx): Promise<void> {
    tx.send(markSettled, [
      events.map(({ payload }) => payload.gatewayRequestId),
      events.map(({ payload }) => payload.completedAt),
      events.map(({ payload }) => payload.transactionHash ?? null),
    ]);
    await this.evidence.add(
      tx,
      events.map(({ payload }) => ({ ...payload, callId: payload.gatewayRequestId })),
    );
  }

  @HandleEvent(callFailed)
  async onCallFailed(events: ReceivedEvent<typeof callFailed>[], tx: Tx): Promise<void> {
    await this.evidence.add(
      tx,
      events
        .filter(({ payload }) => payload.isPaid)
        .map(({ payload }) => ({ ...payload, callId: payload.gatewayRequestId, latencyMs: null })),
    );
  }

  /** The refund of a surplus does not change the call that was paid. */
  @HandleEvent(paymentRefundDue)
  async onPaymentRefundDue(events: ReceivedEvent<typeof paymentRefundDue>[], tx: Tx): Promise<void> {
    const undelivered = events.filter(({ payload }) => payload.reason !== 'overpaid');
    tx.send(markRefunded, [undelivered.map(({ payload }) => payload.gatewayRequestId)]);
  }

  @HandleEvent(paymentRefunded)
  async onPaymentRefunded(events: ReceivedEvent<typeof paymentRefunded>[], tx: Tx): Promise<void> {
    const whole = events.filter(({ payload }) => payload.isWhole && payload.reason !== 'overpaid');
    tx.send(markPaidBack, [
      whole.map(({ payload }) => payload.gatewayRequestId),
      whole.map(({ payload }) => payload.transactionHash),
    ]);
  }
}
