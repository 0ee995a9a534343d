import { feesPaid } from '@market/contracts/payments-ledger';
import type { RequestContext } from '@market/messaging';
import { Outbox, sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { Journal } from '../journal/journal.js';
import { feesPaid as bookedFees } from '../journal/posting.js';
import type { PaymentRow } from '../payments/payment.js';
import { PLAY_RAIL } from '../rails/payment-rail.js';
import { FeeStandings } from './fee-standings.js';

const complete = sql(
  'payments.complete-fees',
  `UPDATE payments SET state = 'completed', completed_at = $2 WHERE id = $1`,
);

/**
 * Books paid fees in the caller's transaction: records the journal entry, completes the payment, says so and reviews the
 * payer's standing.
 */
@Injectable()
export class BookFees {
  constructor(
    private readonly journal: Journal,
    private readonly standings: FeeStandings,
    private readonly outbox: Outbox,
  ) {}

  async execute(
    tx: Tx,
    payment: PaymentRow,
    at: Date,
    context: Pick<RequestContext, 'requestId' | 'traceparent'>,
  ): Promise<void> {
    const { id, buyer_id: sellerId, rail, gross_micros } = payment;
    const entry = bookedFees({ paymentId: id, sellerId, rail, amountMicros: BigInt(gross_micros) });
    this.journal.record(tx, [{ entry, payment, context }], at);
    await tx.query(complete, [id, at]);
    const receivedMicros = rail === PLAY_RAIL ? '0' : gross_micros;
    this.outbox.add(
      tx,
      feesPaid,
      { paymentId: id, sellerId, amountMicros: gross_micros, receivedMicros, paidAt: at.toISOString() },
      context,
    );
    await this.standings.review(tx, sellerId, context);
  }
}
