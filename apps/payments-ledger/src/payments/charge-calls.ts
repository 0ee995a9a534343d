import { paymentCompleted, type settlePayment } from '@market/contracts/payments-ledger';
import type { InputOf } from '@market/contracts';
import type { RequestContext } from '@market/messaging';
import { Outbox, sql, withParameters, type OutgoingEvent, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { Journal } from '../journal/journal.js';
import { callCompleted } from '../journal/posting.js';
import { feeReceivedMicros, paidTo, splitOf, type CallPaymentRow } from './payment.js';
import type { LockedPayment } from './reconcile-payment.js';

/** A payment to charge now, whose row is locked. */
export interface Due {
  input: InputOf<typeof settlePayment>;
  context: Pick<RequestContext, 'requestId' | 'traceparent'>;
  payment: CallPaymentRow & Pick<LockedPayment, 'as_of'>;
  /** The wallet that signed the payment, if any. */
  payer?: string;
}

const complete = withParameters({ at: 'timestamptz', payment_ids: 'uuid[]' }, ({ at, payment_ids }) =>
  sql(
    'payments.complete',
    `UPDATE payments SET state = 'completed', completed_at = ${at} WHERE id = ANY(${payment_ids})`,
  ),
);

/** Charges for delivered calls: completes the payments, adds their events, and records them in the journal. */
@Injectable()
export class ChargeCalls {
  constructor(
    private readonly journal: Journal,
    private readonly outbox: Outbox,
  ) {}

  execute(tx: Tx, due: Due[]): void {
    const [first] = due;
    if (!first) return;
    const at = first.payment.as_of;
    tx.send(complete, complete.values({ at, payment_ids: due.map(({ payment }) => payment.id) }));
    this.outbox.addAll(
      tx,
      due.map((item) => toEvent(item, at)),
    );
    this.journal.record(
      tx,
      due.map(({ input, payment, payer = null, context }) => ({
        context,
        entry: callCompleted({
          paymentId: payment.id,
          buyerId: payment.buyer_id,
          sellerId: payment.seller_id,
          money: splitOf(payment),
          paid: paidTo(payment),
        }),
        payment,
        sale: {
          payer,
          exchange: {
            request_digest: Buffer.from(input.requestDigest, 'hex'),
            response_digest: Buffer.from(input.responseDigest, 'hex'),
            seller_status_code: input.sellerStatusCode,
          },
        },
      })),
      at,
    );
  }
}

function toEvent({ input, context, payment }: Due, at: Date): OutgoingEvent<typeof paymentCompleted> {
  return {
    contract: paymentCompleted,
    context,
    payload: {
      paymentId: payment.id,
      relayRequestId: payment.relay_request_id,
      gatewayRequestId: payment.gateway_request_id,
      buyerId: payment.buyer_id,
      sellerId: payment.seller_id,
      listingId: payment.listing_id,
      grossMicros: payment.gross_micros,
      feeMicros: payment.fee_micros,
      feeReceivedMicros: feeReceivedMicros(payment),
      sellerStatusCode: input.sellerStatusCode,
      latencyMs: input.latencyMs,
      requestDigest: input.requestDigest,
      responseDigest: input.responseDigest,
      transactionHash: payment.transaction_hash,
      completedAt: at.toISOString(),
    },
  };
}
