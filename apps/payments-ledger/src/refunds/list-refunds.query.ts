import type { InputOf, OutputOf } from '@market/contracts';
import { listRefunds } from '@market/contracts/payments-ledger';
import { HandleRequest, principalOf, type RequestContext } from '@market/messaging';
import { Database, pageOfRows, sql } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { refundColumns, toRefundView, type ShownRefundRow } from './refund.js';

/** A seller sees its own debts but not the debts of the operator. */
const MATCHING = `FROM refunds x JOIN payments p ON p.id = x.payment_id
  WHERE ((x.buyer_id = $1 AND $2::text IS DISTINCT FROM 'seller')
      OR (x.seller_id = $1 AND x.owed_by = 'seller' AND $2 IS DISTINCT FROM 'buyer'))
    AND ($3::text IS NULL OR (x.refunded_at IS NOT NULL) = ($3 = 'refunded'))`;
const list = sql(
  'refunds.list',
  `SELECT ${refundColumns}, p.gateway_request_id, p.listing_id, p.listing_name, p.listing_slug ${MATCHING}
     AND x.id < coalesce($6, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid) ORDER BY x.id DESC LIMIT $4::int + 1 OFFSET $5`,
);
const count = sql('refunds.count', `SELECT count(*)::int AS total ${MATCHING}`);

/** Lists what is owed to the caller and what the caller owes. */
@Injectable()
export class ListRefunds {
  constructor(
    private readonly database: Database,
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  @HandleRequest(listRefunds)
  async execute(
    { role, status, page, limit, cursor }: InputOf<typeof listRefunds>,
    context: RequestContext,
  ): Promise<OutputOf<typeof listRefunds>> {
    const { accountId } = principalOf(context);
    const filter = [accountId, role ?? null, status ?? null];
    const [found, [counted]] = await Promise.all([
      this.database.query<ShownRefundRow>(list, [
        ...filter,
        limit,
        cursor === undefined ? (page - 1) * limit : 0,
        cursor ?? null,
      ]),
      this.database.query<{ total: number }>(count, filter),
    ]);
    const { rows, nextCursor } = pageOfRows(found, limit);
    return {
      items: rows.map((row) => toRefundView(row, accountId, this.config.refundGraceDays)),
      total: counted!.total,
      nextCursor,
    };
  }
}
