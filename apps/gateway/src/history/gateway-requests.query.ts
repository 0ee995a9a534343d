import { getGatewayRequest, type listGatewayRequests } from '@market/contracts/gateway';
import type { InputOf, OutputOf } from '@market/contracts';
import { centsNumber, feeRateNumber } from '@market/kernel';
import { principalOf, refuse, type Call } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';

type View = OutputOf<typeof getGatewayRequest>;

interface RequestRow {
  id: string;
  buyer_id: string;
  seller_id: string;
  listing_id: string;
  listing_name: string;
  listing_slug: string;
  status: View['status'];
  body_digest: Buffer;
  gross_micros: string;
  fee_micros: string;
  net_micros: string;
  fee_bps: number;
  relay_request_id: string | null;
  provider: string | null;
  scheme: string | null;
  network: string | null;
  transaction_hash: string | null;
  billable: boolean | null;
  seller_status_code: number | null;
  latency_ms: number | null;
  error_code: string | null;
  response_digest: Buffer | null;
  created_at: Date;
  completed_at: Date | null;
}

/** What time alone has changed: offers that ran out, and free calls whose process died with them under way. */
const statusNow = `CASE WHEN g.status IN ('payment_required', 'payment_pending') AND g.offer_expires_at < now() THEN 'expired'
   WHEN g.status = 'forwarding' AND g.lease_until < now() THEN 'seller_failed' ELSE g.status END`;
const columns = `g.id, g.buyer_id, g.seller_id, g.listing_id, g.listing_name, g.listing_slug, ${statusNow} AS status, g.body_digest, g.gross_micros, g.fee_micros, g.net_micros, g.fee_bps,
  g.relay_request_id, g.provider, g.scheme, g.network, g.transaction_hash, g.billable, g.seller_status_code, g.latency_ms, g.error_code, g.response_digest, g.created_at, g.completed_at`;

const WHOSE = {
  buyer: 'g.buyer_id = $1',
  seller: 'g.seller_id = $1',
  all: '(g.buyer_id = $1 OR g.seller_id = $1)',
};
const filters = `($2::text IS NULL OR ${statusNow} = $2) AND ($3::uuid IS NULL OR g.listing_id = $3)
   AND ($4::timestamptz IS NULL OR g.created_at >= $4) AND ($5::timestamptz IS NULL OR g.created_at < $5)`;
const statementsFor = (role: keyof typeof WHOSE) => ({
  list: sql(`gateway-requests.list-${role}`, `SELECT ${columns} FROM gateway_requests g WHERE ${WHOSE[role]} AND ${filters} ORDER BY g.created_at DESC, g.id DESC LIMIT $6 OFFSET $7`),
  count: sql(`gateway-requests.count-${role}`, `SELECT count(*)::int AS total FROM gateway_requests g WHERE ${WHOSE[role]} AND ${filters}`),
});
const statements = { buyer: statementsFor('buyer'), seller: statementsFor('seller'), all: statementsFor('all') };
const find = sql('gateway-requests.find-own', `SELECT ${columns} FROM gateway_requests g WHERE g.id = $2 AND ${WHOSE.all}`);

/** The history of calls, seen from the side the caller was on. `from` is inclusive, `to` exclusive. Two statements a page. */
@Injectable()
export class GatewayRequestsQuery {
  constructor(private readonly database: Database) {}

  async list(input: InputOf<typeof listGatewayRequests>, call: Call): Promise<OutputOf<typeof listGatewayRequests>> {
    const { accountId } = principalOf(call);
    const { list, count } = statements[input.role];
    const filter = [accountId, input.status ?? null, input.listingId ?? null, input.from ?? null, input.to ?? null];
    const [rows, [counted]] = await Promise.all([
      this.database.query<RequestRow>(list, [...filter, input.limit, (input.page - 1) * input.limit]),
      this.database.query<{ total: number }>(count, filter),
    ]);
    return { items: rows.map((row) => toView(row, accountId)), total: counted!.total };
  }

  async get({ requestId }: InputOf<typeof getGatewayRequest>, call: Call): Promise<View> {
    const { accountId } = principalOf(call);
    const [row] = await this.database.query<RequestRow>(find, [accountId, requestId]);
    if (!row) throw refuse(getGatewayRequest, 'gateway_request_not_found', {});
    return toView(row, accountId);
  }
}

function toView(row: RequestRow, viewerId: string): View {
  const charged = row.billable === true;
  const cents = (micros: string): number => (charged ? centsNumber(BigInt(micros)) : 0);
  return {
    id: row.id,
    request_id: row.id,
    listing: { id: row.listing_id, name: row.listing_name, slug: row.listing_slug },
    role: row.buyer_id === viewerId ? 'buyer' : 'seller',
    buyer_id: row.buyer_id,
    seller_id: row.seller_id,
    status: row.status,
    billable: row.billable,
    charged_amount: { amount_cents: cents(row.gross_micros), currency: 'USD' },
    fees: { fee_rate: feeRateNumber(row.fee_bps), fee_amount_cents: cents(row.fee_micros), seller_receives_cents: cents(row.net_micros) },
    payment:
      row.relay_request_id === null
        ? null
        : { provider: row.provider ?? '', scheme: row.scheme ?? '', network: row.network ?? '', relay_request_id: row.relay_request_id, transaction_hash: row.transaction_hash },
    seller_status_code: row.seller_status_code,
    latency_ms: row.latency_ms,
    error_code: row.error_code,
    request_digest: row.body_digest.toString('hex'),
    response_digest: row.response_digest?.toString('hex') ?? null,
    created_at: row.created_at.toISOString(),
    completed_at: row.completed_at?.toISOString() ?? null,
  };
}
