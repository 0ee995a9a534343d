import type { InputOf, OutputOf } from '@market/contracts';
import { getPayment } from '@market/contracts/payments-ledger';
import { formatDecimal, usdNumber } from '@market/kernel';
import { HandleRequest, principalOf, refuse, type RequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { feesOf, paymentsAndOffers, requirementsOf, type SalePaymentRow } from './payment.js';

const find = sql(
  'payments.find-own',
  `SELECT p.*,
     (SELECT coalesce(sum(amount_micros), 0) FROM refunds x WHERE x.payment_id = p.id AND x.refunded_at IS NULL) AS due_micros
   FROM ${paymentsAndOffers('p.id = $1')} p WHERE buyer_id = $2 AND purpose IN ('call', 'subscription')`,
);

/** Reads the stored state of one of the caller's purchases. It does not ask the rail. */
@Injectable()
export class PaymentQuery {
  constructor(private readonly database: Database) {}

  @HandleRequest(getPayment)
  async get({ payment_id }: InputOf<typeof getPayment>, context: RequestContext): Promise<OutputOf<typeof getPayment>> {
    const [row] = await this.database.query<SalePaymentRow & { purpose: 'call' | 'subscription'; due_micros: string }>(
      find,
      [payment_id, principalOf(context).accountId],
    );
    if (!row) throw refuse(getPayment, 'payment_not_found', {});
    return {
      payment_id: row.id,
      status: row.state,
      purpose: row.purpose,
      transaction_hash: row.transaction_hash,
      requirements: requirementsOf(row),
      fees: feesOf(row),
      listing: { id: row.listing_id, name: row.listing_name, slug: row.listing_slug },
      received_amount: formatDecimal(BigInt(row.received_base_units), row.decimals),
      refund_due_amount: usdNumber(BigInt(row.due_micros)),
      created_at: row.created_at.toISOString(),
      completed_at: row.completed_at?.toISOString() ?? null,
    };
  }
}
