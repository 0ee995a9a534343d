import { paymentCompleted, settlePayment } from '@market/contracts/payments-ledger';
import type { InputOf, OutputOf } from '@market/contracts';
import { newId } from '@market/kernel';
import { refuse, type Call } from '@market/messaging';
import { Database, GroupCommit, Outbox, sql, type OutgoingEvent, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { Journal } from '../journal/journal.js';
import { callCompleted } from '../journal/posting.js';
import { isForCall, paymentColumns, splitOf, type CallPaymentRow, type PaymentRow } from './payment.js';

type Input = InputOf<typeof settlePayment>;
type Output = OutputOf<typeof settlePayment>;
interface Settlement {
  input: Input;
  call: Pick<Call, 'requestId' | 'traceparent'>;
}

/** One that is charged now. */
interface Due {
  item: Settlement;
  payment: CallPaymentRow;
}

const lockAll = sql('payments.lock-all', `SELECT ${paymentColumns('p')}, now() AS as_of FROM payments p WHERE id = ANY($1::uuid[]) ORDER BY id FOR UPDATE`);
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

/**
 * Charges for delivered answers. One transaction for all that arrive together: lock the payments, record the journal,
 * complete them with both receipts each, write the events; six statements and one commit for a group of any size.
 */
@Injectable()
export class SettlePayment {
  private readonly settlements = new GroupCommit<Settlement, Output>((items) => this.settleAll(items));

  constructor(
    private readonly database: Database,
    private readonly journal: Journal,
    private readonly outbox: Outbox,
  ) {}

  execute(input: Input, call: Call): Promise<Output> {
    return this.settlements.submit({ input, call: { requestId: call.requestId, traceparent: call.traceparent } });
  }

  private settleAll(items: Settlement[]): Promise<(Output | Error)[]> {
    return this.database.transaction(async (tx) => {
      const rows = await tx.query<PaymentRow & { as_of: Date }>(lockAll, [[...new Set(items.map(({ input }) => input.paymentId))]]);
      const payments = new Map(rows.map((row) => [row.id, row]));
      const due: Due[] = [];
      const results = items.map((item): Output | Error => {
        const payment = payments.get(item.input.paymentId);
        if (payment?.state === 'completed' && payment.completed_at) return { paymentId: payment.id, completedAt: payment.completed_at.toISOString() };
        if (payment?.state !== 'in_flight' || !isForCall(payment) || payment.fence !== item.input.fence) return refuse(settlePayment, 'claim_lost', {});
        // A repeated settlement in the same group finds it completed.
        payment.state = 'completed';
        payment.completed_at = payment.as_of;
        due.push({ item, payment });
        return { paymentId: payment.id, completedAt: payment.as_of.toISOString() };
      });
      if (due.length > 0) await this.charge(tx, due, rows[0]!.as_of);
      return results;
    });
  }

  private async charge(tx: Tx, due: Due[], at: Date): Promise<void> {
    await this.journal.record(
      tx,
      due.map(({ payment }) => callCompleted({ paymentId: payment.id, buyerId: payment.buyer_id, sellerId: payment.seller_id, money: splitOf(payment) })),
      at,
    );
    const receipts = due.flatMap(({ item, payment }) => [
      { item, payment, type: 'buyer', recipient: payment.buyer_id },
      { item, payment, type: 'seller', recipient: payment.seller_id },
    ]);
    await tx.query(complete, [
      at,
      due.map(({ payment }) => payment.id),
      receipts.map(() => newId(at.getTime())),
      receipts.map(({ payment }) => payment.id),
      receipts.map(({ type }) => type),
      receipts.map(({ recipient }) => recipient),
      receipts.map(({ item }) => Buffer.from(item.input.requestDigest, 'hex')),
      receipts.map(({ item }) => Buffer.from(item.input.responseDigest, 'hex')),
      receipts.map(({ item }) => item.input.sellerStatusCode),
    ]);
    await this.outbox.addAll(tx, due.map(({ item, payment }) => toEvent(item, payment, at)));
  }
}

function toEvent({ input, call }: Settlement, payment: CallPaymentRow, at: Date): OutgoingEvent<typeof paymentCompleted> {
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
      completedAt: at.toISOString(),
    },
  };
}
