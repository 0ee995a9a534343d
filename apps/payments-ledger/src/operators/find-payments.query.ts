import type { InputOf, OutputOf } from '@market/contracts';
import { findPayments, inspectPayment } from '@market/contracts/payments-ledger';
import { formatDecimal } from '@market/kernel';
import { HandleRequest, operatorOf, refuse, type RequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { paymentColumns, paymentsAndOffers, type PaymentRow } from '../payments/payment.js';

const find = sql(
  'operators.find-payments',
  `SELECT * FROM ${paymentsAndOffers('p.id = ANY($1::uuid[]) OR p.relay_request_id = $2')} p
   UNION SELECT ${paymentColumns('p')} FROM payments p WHERE p.id IN (
     SELECT id FROM payments WHERE transaction_hash = $2
     UNION ALL (SELECT payment_id FROM receipts WHERE recipient_id = $3 ORDER BY sequence DESC LIMIT 20))
   ORDER BY created_at DESC, id LIMIT 20`,
);
const inspect = sql('operators.inspect-payment', `SELECT * FROM ${paymentsAndOffers('p.id = $1')} p`);
const authorizationsOf = sql(
  'operators.authorizations-of-payment',
  `SELECT id, state, network, payer, attempts, reason, valid_before, created_at
   FROM authorizations WHERE payment_id = $1 ORDER BY created_at, id`,
);
const entriesOf = sql(
  'operators.entries-of-payment',
  `SELECT t.reason, o.account, o.type, o.direction, o.amount_micros, t.recorded_at
   FROM journal_transactions t JOIN postings o ON o.sequence = t.sequence WHERE t.payment_id = $1 ORDER BY t.sequence, o.position`,
);

type Summary = OutputOf<typeof findPayments>['payments'][number];
type Detail = OutputOf<typeof inspectPayment>;
type AuthorizationRow = Omit<Detail['authorizations'][number], 'valid_before' | 'created_at'> & {
  valid_before: Date;
  created_at: Date;
};
type EntryRow = Omit<Detail['entries'][number], 'amount_usd' | 'recorded_at'> & {
  amount_micros: string;
  recorded_at: Date;
};

/** Payments of all accounts, for operators. */
@Injectable()
export class FindPayments {
  constructor(private readonly database: Database) {}

  @HandleRequest(findPayments)
  async find(
    { ids, reference, accountId }: InputOf<typeof findPayments>,
    context: RequestContext,
  ): Promise<OutputOf<typeof findPayments>> {
    operatorOf(context);
    const rows = await this.database.query<PaymentRow>(find, [ids, reference, accountId]);
    return { payments: rows.map(toSummary) };
  }

  @HandleRequest(inspectPayment)
  async inspect({ paymentId }: InputOf<typeof inspectPayment>, context: RequestContext): Promise<Detail> {
    operatorOf(context);
    const [[row], authorizations, entries] = await Promise.all([
      this.database.query<PaymentRow>(inspect, [paymentId]),
      this.database.query<AuthorizationRow>(authorizationsOf, [paymentId]),
      this.database.query<EntryRow>(entriesOf, [paymentId]),
    ]);
    if (!row) throw refuse(inspectPayment, 'payment_not_found', {});
    return {
      ...toSummary(row),
      pay_to: row.pay_to,
      payee: row.payee,
      amount: formatDecimal(BigInt(row.amount_base_units), row.decimals),
      received_amount: formatDecimal(BigInt(row.received_base_units), row.decimals),
      expires_at: row.expires_at.toISOString(),
      retry_until: row.retry_until?.toISOString() ?? null,
      authorizations: authorizations.map(({ valid_before, created_at, ...authorization }) => ({
        ...authorization,
        valid_before: valid_before.toISOString(),
        created_at: created_at.toISOString(),
      })),
      entries: entries.map(({ amount_micros, recorded_at, ...entry }) => ({
        ...entry,
        amount_usd: usdText(amount_micros),
        recorded_at: recorded_at.toISOString(),
      })),
    };
  }
}

export const usdText = (micros: string): string => formatDecimal(BigInt(micros), 6);

const toSummary = (row: PaymentRow): Summary => ({
  id: row.id,
  purpose: row.purpose,
  state: row.state,
  rail: row.rail,
  scheme: row.scheme,
  network: row.network,
  currency: row.currency,
  gross_usd: usdText(row.gross_micros),
  fee_usd: usdText(row.fee_micros),
  buyer_id: row.buyer_id,
  seller_id: row.seller_id,
  listing: row.listing_id === null ? null : { id: row.listing_id, name: row.listing_name!, slug: row.listing_slug! },
  gateway_request_id: row.gateway_request_id,
  relay_request_id: row.relay_request_id,
  transaction_hash: row.transaction_hash,
  created_at: row.created_at.toISOString(),
  completed_at: row.completed_at?.toISOString() ?? null,
});
