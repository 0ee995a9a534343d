import type { RequestContext } from '@market/messaging';
import { sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { Journal } from '../journal/journal.js';
import { feesPaid } from '../journal/posting.js';
import type { PaymentRow } from '../payments/payment.js';
import { FeeStandings } from './fee-standings.js';

const complete = sql(
  'payments.complete-fees',
  `UPDATE payments SET state = 'completed', completed_at = $2 WHERE id = $1`,
);

/**
 * Books paid fees in the caller's transaction: records the journal entry, completes the payment and reviews the payer's
 * standing.
 */
@Injectable()
export class BookFees {
  constructor(
    private readonly journal: Journal,
    private readonly standings: FeeStandings,
  ) {}

  async execute(
    tx: Tx,
    payment: PaymentRow,
    at: Date,
    context: Pick<RequestContext, 'requestId' | 'traceparent'>,
  ): Promise<void> {
    const { id, buyer_id: sellerId, rail, gross_micros } = payment;
    const entry = feesPaid({ paymentId: id, sellerId, rail, amountMicros: BigInt(gross_micros) });
    await this.journal.record(tx, [{ entry, payment, context }], at);
    await tx.query(complete, [id, at]);
    await this.standings.review(tx, sellerId, context);
  }
}
