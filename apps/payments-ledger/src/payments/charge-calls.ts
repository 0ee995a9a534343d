import { paymentCompleted, type settlePayment } from '@market/contracts/payments-ledger';
import type { InputOf } from '@market/contracts';
import type { RequestContext } from '@market/messaging';
import { Outbox, sql, withParameters, type OutgoingEvent, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { Journal } from '../journal/journal.js';
import { callCompleted } from '../journal/posting.js';
import { paidTo, splitOf, type CallPaymentRow } from './payment.js';
import { receiptsOf } from './receipt.js';
import type { LockedPayment } from './reconcile-payment.js';

/** A payment to charge now, whose row is locked. */
export interface Due {
  input: InputOf<typeof settlePayment>;
  context: Pick<RequestContext, 'requestId' | 'traceparent'>;
  payment: CallPaymentRow & Pick<LockedPayment, 'as_of'>;
  /** The wallet that signed the payment, if any. */
  payer?: string;
}

const complete = withParameters(
  {
    at: 'timestamptz',
    payment_ids: 'uuid[]',
    receipts: `id uuid, payment_id uuid, recipient_type text, recipient_id uuid, request_digest bytea, response_digest bytea,
      seller_status_code int, created_at timestamptz`,
  },
  ({ at, payment_ids, receipts }) =>
    sql(
      'payments.complete',
      `WITH completed AS (
         UPDATE payments SET state = 'completed', completed_at = ${at}, lease_until = NULL WHERE id = ANY(${payment_ids})
       )
       INSERT INTO receipts (${receipts.columns}) SELECT * FROM ${receipts.table}`,
    ),
);

/**
 * Charges for delivered calls: records the journal entries, completes the payments, and adds both receipts and the
 * event.
 */
@Injectable()
export class ChargeCalls {
  constructor(
    private readonly journal: Journal,
    private readonly outbox: Outbox,
  ) {}

  async execute(tx: Tx, due: Due[]): Promise<void> {
    const [first] = due;
    if (!first) return;
    const at = first.payment.as_of;
    const sales = due.map(({ input, payment, payer = null, context }) => {
      const exchanged = {
        requestDigest: Buffer.from(input.requestDigest, 'hex'),
        responseDigest: Buffer.from(input.responseDigest, 'hex'),
        sellerStatusCode: input.sellerStatusCode,
      };
      return { context, payment, payer, ...receiptsOf(payment, at, exchanged) };
    });
    await this.journal.record(
      tx,
      sales.map(({ context, payment, ...sale }) => ({
        context,
        entry: callCompleted({
          paymentId: payment.id,
          buyerId: payment.buyer_id,
          sellerId: payment.seller_id,
          money: splitOf(payment),
          paid: paidTo(payment),
        }),
        payment,
        sale,
      })),
      at,
    );
    const receipts = sales.flatMap(({ buyer, seller }) => [buyer, seller]);
    const payment_ids = due.map(({ payment }) => payment.id);
    tx.send(complete, complete.values({ at, payment_ids, receipts }));
    this.outbox.addAll(
      tx,
      due.map((item) => toEvent(item, at)),
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
      sellerStatusCode: input.sellerStatusCode,
      latencyMs: input.latencyMs,
      requestDigest: input.requestDigest,
      responseDigest: input.responseDigest,
      transactionHash: payment.transaction_hash,
      completedAt: at.toISOString(),
    },
  };
}
