import {
  findCalls,
  getGatewayRequest,
  inspectCall,
  isStreamType,
  listGatewayRequests,
} from '@market/contracts/gateway';
import type { InputOf, OutputOf } from '@market/contracts';
import { centsNumber, feeRateNumber } from '@market/kernel';
import { HandleRequest, operatorOf, principalOf, refuse, type RequestContext } from '@market/messaging';
import { Database, pageOfRows, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { RETRY_SECONDS } from '../jobs/job-records.js';
import { CallRecords } from '../calls/call-records.js';

type Detail = OutputOf<typeof getGatewayRequest>;
type View = OutputOf<typeof listGatewayRequests>['items'][number];
type Attempt = Detail['attempts'][number];

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
  unit: string | null;
  units: number | null;
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
  content_type: string | null;
  content_size: number | null;
  /** The number of the last attempt that was recorded; 0 before the first. */
  attempts: number;
  payment_id: string | null;
  settled_at: Date | null;
  refund_transaction_hash: string | null;
  job: OpenedJob | null;
  created_at: Date;
  completed_at: Date | null;
}

interface OpenedJob {
  is_open: boolean;
  percent: number | null;
  message: string | null;
  progress_at: string | null;
  deadline_at: string;
  retry_after_seconds: number;
}

type DetailRow = RequestRow & { failed_attempts: Attempt[] };

/**
 * The current status. It takes account of expired offers, of free calls whose process stopped, and of what the ledger has
 * not booked or the debtor not sent yet.
 */
const statusNow = `CASE WHEN g.job_until IS NOT NULL THEN 'forwarding'
   WHEN g.status IN ('payment_required', 'payment_pending') AND g.offer_expires_at < now() THEN 'expired'
   WHEN g.status = 'succeeded' AND g.settled_at IS NULL THEN 'settling'
   WHEN g.status = 'refunded' AND g.refund_transaction_hash IS NULL THEN 'refund_due'
   WHEN g.status = 'forwarding' AND g.payment_id IS NULL AND g.forwarding_until < now() THEN 'seller_failed' ELSE g.status END`;
const columns = `g.id, g.buyer_id, g.seller_id, g.listing_id, g.listing_name, g.listing_slug, ${statusNow} AS status,
  g.body_digest, g.gross_micros, g.fee_micros, g.net_micros, g.fee_bps, g.usage ->> 'unit' AS unit, g.units::float8 AS units,
  g.relay_request_id, g.provider, g.scheme, g.network, g.transaction_hash, g.billable, g.seller_status_code,
  g.latency_ms, g.error_code, g.response_digest, g.content_type, g.content_size, g.attempts, g.payment_id, g.settled_at,
  g.refund_transaction_hash,
  (SELECT json_build_object('is_open', g.job_until IS NOT NULL, 'percent', j.percent, 'message', j.message,
     'progress_at', j.progress_at, 'deadline_at', j.deadline_at, 'retry_after_seconds', ${RETRY_SECONDS})
   FROM jobs j WHERE j.call_id = g.id) AS job,
  g.created_at, g.completed_at`;

const SIDES = { buyer: ['buyer'], seller: ['seller'], all: ['buyer', 'seller'] } as const;
type Side = 'buyer' | 'seller';

const find = sql(
  'gateway-requests.find-own',
  `SELECT ${columns}, g.failed_attempts FROM gateway_requests g WHERE g.id = $2 AND (g.buyer_id = $1 OR g.seller_id = $1)`,
);
const inspect = sql(
  'gateway-requests.inspect',
  `SELECT ${columns}, g.failed_attempts FROM gateway_requests g WHERE g.id = $1`,
);
const newestOf = (side: Side): string =>
  `(SELECT id FROM gateway_requests WHERE ${side}_id = $2 ORDER BY created_at DESC, id DESC LIMIT 20)`;
const findForOperators = sql(
  'gateway-requests.find-for-operators',
  `SELECT ${columns} FROM gateway_requests g
   WHERE g.id IN (SELECT unnest($1::uuid[]) UNION ALL ${newestOf('buyer')} UNION ALL ${newestOf('seller')})
   ORDER BY g.created_at DESC, g.id DESC LIMIT 20`,
);

interface Asked {
  name: string;
  where: (side: Side) => string;
  values: unknown[];
}

/** Creates conditions only for given filters, so that pages and totals can use index-only scans. */
function conditionsOf(
  accountId: string,
  { role, status, listing_id, from, to, cursor }: InputOf<typeof listGatewayRequests>,
): Asked {
  const conditions = {
    status: [status, (n: number) => `${statusNow} = $${n}`],
    listing: [listing_id, (n: number) => `g.listing_id = $${n}`],
    from: [from, (n: number) => `g.created_at >= $${n}`],
    to: [to, (n: number) => `g.created_at < $${n}`],
    behind: [
      cursor,
      (n: number) => `(g.created_at, g.id) < (SELECT created_at, id FROM gateway_requests WHERE id = $${n})`,
    ],
  } as const;
  const given = Object.entries(conditions).filter(([, [value]]) => value !== undefined);
  const filters = given.map(([, [, condition]], index) => ` AND ${condition(index + 2)}`).join('');
  return {
    name: [role, ...given.map(([name]) => name)].join('-'),
    where: (side) => `g.${side}_id = $1${filters}`,
    values: [accountId, ...given.map(([, [value]]) => value)],
  };
}

/** A call never has the same buyer and seller, so the counts of both roles can be added. */
const countOf = (role: View['role'] | 'all', { name, where }: Asked) =>
  sql(
    `gateway-requests.count-${name}`,
    `SELECT ${SIDES[role].map((side) => `(SELECT count(*) FROM gateway_requests g WHERE ${where(side)})`).join(' + ')} AS total`,
  );

/** Finds the ids of a page first, so that skipped rows are only read from the index. */
function pageOf(role: View['role'] | 'all', { name, where, values }: Asked) {
  const [limit, offset] = [`$${values.length + 1}::int + 1`, `$${values.length + 2}::int`];
  const newestOf = (side: Side): string =>
    `(SELECT g.id, g.created_at FROM gateway_requests g WHERE ${where(side)}
      ORDER BY g.created_at DESC, g.id DESC LIMIT ${limit} + ${offset})`;
  const ids = `SELECT id FROM (${SIDES[role].map(newestOf).join(' UNION ALL ')}) newest
    ORDER BY created_at DESC, id DESC LIMIT ${limit} OFFSET ${offset}`;
  return sql(
    `gateway-requests.list-${name}`,
    `SELECT ${columns} FROM gateway_requests g WHERE g.id IN (${ids}) ORDER BY g.created_at DESC, g.id DESC`,
  );
}

/** Returns the history of calls, as buyer or as seller. `from` is inclusive, `to` exclusive. */
@Injectable()
export class GatewayRequestsQuery {
  constructor(
    private readonly database: Database,
    private readonly records: CallRecords,
  ) {}

  @HandleRequest(listGatewayRequests)
  async list(
    input: InputOf<typeof listGatewayRequests>,
    context: RequestContext,
  ): Promise<OutputOf<typeof listGatewayRequests>> {
    await this.records.flush();
    const { accountId } = principalOf(context);
    const { cursor, ...filters } = input;
    const counts = conditionsOf(accountId, filters);
    const [counted] = await this.database.query<{ total: string }>(countOf(input.role, counts), counts.values);
    const total = Number(counted!.total);
    const asked = conditionsOf(accountId, input);
    const offset = cursor === undefined ? (input.page - 1) * input.limit : 0;
    const found =
      offset < total
        ? await this.database.query<RequestRow>(pageOf(input.role, asked), [...asked.values, input.limit, offset])
        : [];
    const { rows, nextCursor } = pageOfRows(found, input.limit);
    return { items: rows.map((row) => toView(row, accountId)), total, nextCursor };
  }

  @HandleRequest(getGatewayRequest)
  async get({ requestId }: InputOf<typeof getGatewayRequest>, context: RequestContext): Promise<Detail> {
    const { accountId } = principalOf(context);
    await this.records.flush();
    const [row] = await this.database.query<DetailRow>(find, [accountId, requestId]);
    if (!row) throw refuse(getGatewayRequest, 'gateway_request_not_found', {});
    return { ...toView(row, accountId), attempts: attemptsOf(row) };
  }

  /** Returns calls for operators, with the fields that the buyer sees. */
  @HandleRequest(findCalls)
  async find(
    { ids, accountId }: InputOf<typeof findCalls>,
    context: RequestContext,
  ): Promise<OutputOf<typeof findCalls>> {
    operatorOf(context);
    await this.records.flush();
    const rows = await this.database.query<RequestRow>(findForOperators, [ids, accountId]);
    return { calls: rows.map(toOperatorsView) };
  }

  @HandleRequest(inspectCall)
  async inspect(
    { requestId }: InputOf<typeof inspectCall>,
    context: RequestContext,
  ): Promise<OutputOf<typeof inspectCall>> {
    operatorOf(context);
    await this.records.flush();
    const [row] = await this.database.query<DetailRow>(inspect, [requestId]);
    if (!row) throw refuse(inspectCall, 'gateway_request_not_found', {});
    return { ...toOperatorsView(row), attempts: attemptsOf(row) };
  }
}

function toOperatorsView(row: RequestRow): OutputOf<typeof findCalls>['calls'][number] {
  const { role: _buyers, ...view } = toView(row, row.buyer_id);
  return { ...view, payment_id: row.payment_id };
}

/** Returns the stored failed attempts, and the delivered attempt, whose data are in the record of the call. */
function attemptsOf({ failed_attempts, billable, completed_at, latency_ms, seller_status_code }: DetailRow): Attempt[] {
  const failed = failed_attempts.map((attempt) => ({
    ...attempt,
    started_at: new Date(attempt.started_at).toISOString(),
  }));
  if (billable !== true || !completed_at || latency_ms === null) return failed;
  const started_at = new Date(completed_at.getTime() - latency_ms).toISOString();
  return [...failed, { started_at, seller_status_code, latency_ms, outcome: 'delivered' }];
}

function toView(row: RequestRow, viewerId: string): View {
  const charged = row.billable === true && row.settled_at !== null;
  const bought = row.buyer_id === viewerId;
  const cents = (micros: string): number => (charged ? centsNumber(BigInt(micros)) : 0);
  return {
    id: row.id,
    request_id: row.id,
    listing: { id: row.listing_id, name: row.listing_name, slug: row.listing_slug },
    role: bought ? 'buyer' : 'seller',
    buyer_id: row.buyer_id,
    seller_id: row.seller_id,
    status: row.status,
    billable: row.status === 'settling' ? null : row.billable,
    charged_amount: { amount_cents: cents(row.gross_micros), currency: 'USD' },
    fees: {
      fee_rate: feeRateNumber(row.fee_bps),
      fee_amount_cents: cents(row.fee_micros),
      seller_receives_cents: cents(row.net_micros),
    },
    usage: row.units === null ? null : { unit: row.unit!, units: row.units },
    payment:
      row.relay_request_id === null
        ? null
        : {
            provider: row.provider ?? '',
            scheme: row.scheme ?? '',
            network: row.network ?? '',
            relay_request_id: bought ? row.relay_request_id : null,
            transaction_hash: bought || charged ? row.transaction_hash : null,
          },
    refund:
      row.status === 'refunded' || row.status === 'refund_due'
        ? { status: row.status, transaction_hash: row.refund_transaction_hash }
        : null,
    seller_status_code: row.seller_status_code,
    latency_ms: row.latency_ms,
    error_code: row.error_code,
    // A short body can be guessed from its digest, so each side sees only digests of bodies that it received or sent.
    request_digest: bought || row.attempts > 0 ? row.body_digest.toString('hex') : null,
    response_digest: !bought || row.settled_at ? (row.response_digest?.toString('hex') ?? null) : null,
    kind: row.job ? 'job' : row.response_digest ? kindOf(row.content_type) : null,
    content_type: row.content_type,
    size: row.content_size,
    progress: progressOf(row.job),
    deadline: row.job && new Date(row.job.deadline_at).toISOString(),
    retry_after_seconds: row.job?.is_open ? row.job.retry_after_seconds : null,
    created_at: row.created_at.toISOString(),
    completed_at: row.completed_at?.toISOString() ?? null,
  };
}

const progressOf = (job: OpenedJob | null): View['progress'] =>
  job?.progress_at ? { percent: job.percent, message: job.message, at: new Date(job.progress_at).toISOString() } : null;

const kindOf = (contentType: string | null): 'json' | 'file' | 'stream' =>
  contentType === null ? 'json' : isStreamType(contentType) ? 'stream' : 'file';
