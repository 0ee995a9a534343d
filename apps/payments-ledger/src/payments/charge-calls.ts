import { paymentCompleted, type settlePayment } from '@market/contracts/payments-ledger';
import type { InputOf } from '@market/contracts';
import { newId } from '@market/kernel';
import type { Call } from '@market/messaging';
import { Outbox, sql, type OutgoingEvent, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { Journal } from '../journal/journal.js';
import { callCompleted } from '../journal/posting.js';
import { splitOf, type CallPaymentRow } from './payment.js';

/** One that is charged now; its row is locked. */
export interface Due {
  input: InputOf<typeof settlePayment>;
  call: Pick<Call, 'requestId' | 'traceparent'>;
  payment: CallPaymentRow;
}

const complete = sql(
  'payments.complete',
  `WITH completed AS (
     UPDATE payments SET state = 'completed', completed_at = $1, lease_until = NULL WHERE id = ANY($2::uuid[])
   )
   INSERT INTO receipts (id, payment_id, recipient_type, recipient_id, request_digest, response_digest, seller_status_code, created_at)
   SELECT id, payment_id, recipient_type, recipient_id, request_digest, response_digest, seller_status_code, $1
   FROM unnest($3::uuid[], $4::uuid[], $5::text[], $6::uuid[], $7::bytea[], $8::bytea[], $9::int[])
     AS r (id, payment_id, recipient_type, recipient_id, request_digest, response_digest, seller_status_code)`,
);

/** What a charge is: journal, completed payment, both receipts and the event. Statements: 5 for any number of them. */
@Injectable()
export class ChargeCalls {
  constructor(
    private readonly journal: Journal,
    private readonly outbox: Outbox,
  ) {}

  async execute(tx: Tx, due: Due[], at: Date): Promise<void> {
    await this.journal.record(
      tx,
      due.map(({ payment }) => callCompleted({ paymentId: payment.id, buyerId: payment.buyer_id, sellerId: payment.seller_id, money: splitOf(payment) })),
      at,
    );
    const receipts = due.flatMap(({ input, payment }) => [
      { input, payment, type: 'buyer', recipient: payment.buyer_id },
      { input, payment, type: 'seller', recipient: payment.seller_id },
    ]);
    await tx.query(complete, [
      at,
      due.map(({ payment }) => payment.id),
      receipts.map(() => newId(at.getTime())),
      receipts.map(({ payment }) => payment.id),
      receipts.map(({ type }) => type),
      receipts.map(({ recipient }) => recipient),
      receipts.map(({ input }) => Buffer.from(input.requestDigest, 'hex')),
      receipts.map(({ input }) => Buffer.from(input.responseDigest, 'hex')),
      receipts.map(({ input }) => input.sellerStatusCode),
    ]);
    await this.outbox.addAll(tx, due.map((item) => toEvent(item, at)));
  }
}

function toEvent({ input, call, payment }: Due, at: Date): OutgoingEvent<typeof paymentCompleted> {
  return {
    contract: paymentCompleted,
    call,
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
