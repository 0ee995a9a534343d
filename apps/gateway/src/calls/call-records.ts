import { callFailed, type StoredContent } from '@market/contracts/gateway';
import type { CallMoney, PaymentOffer } from '@market/contracts/payments-ledger';
import type { Offering } from '@market/contracts/catalog';
import type { RequestContext } from '@market/messaging';
import {
  Database,
  GroupCommit,
  GroupLookup,
  lookupSql,
  Outbox,
  sql,
  withParameters,
  type Tx,
} from '@market/persistence';
import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { gatewayConfig, type GatewayConfig } from '../config.js';
import type { SellerFailed } from '../egress/seller-outcome.js';
import { EndpointHealth, type CalledEndpoint } from '../endpoints/endpoint-health.js';
import { JobRecords } from '../jobs/job-records.js';
import { CallEvidence } from '../quality/call-evidence.js';
import { isCharged } from './answer-json.js';
import type { CallTime } from './metrics.js';
import { RESULT_COLUMNS } from './result-columns.js';
import { WriteBehind } from './write-behind.js';

/** A call as the gateway records it. */
export interface CallRecord {
  id: string;
  buyerId: string;
  listing: Pick<Offering, 'listingId' | 'name' | 'slug' | 'sellerId'>;
  bodyDigest: Buffer;
  money: CallMoney;
  /** Null if the call costs nothing. */
  payment: CallPayment | null;
}

interface CallPayment {
  paymentId: string;
  relayRequestId: string;
  /** The rail and the route of the offer. */
  provider: string;
  scheme: string;
  network: string;
}

interface Quote extends Omit<CallRecord, 'payment'> {
  offer: PaymentOffer;
}

/** An attempt at a call, whose lock is held. */
export interface AttemptedCall extends CallRecord {
  payment:
    (CallPayment & { transactionHash: string | null; retryUntil: string; isSigned?: true; isReleasable?: true }) | null;
  /** The number of this attempt, as far as earlier ones were recorded. */
  attempt: number;
  time: CallTime;
  /** Its seller took it as a job, which ends now. */
  isJob?: true;
}

type Delivery = AttemptedCall & Result & { endpoint: CalledEndpoint };

export interface Result {
  answer: string;
  /** The file or stream that the seller answered with; null if it was JSON. */
  content: StoredContent | null;
  /** Of the seller's JSON, file or stream. */
  answerDigest: Buffer;
  statusCode: number;
  latencyMs: number;
  /** What a call that costs what it uses has used, as its seller says; null for any other. */
  units: number | null;
}

/** The results of the earlier attempts at a call. */
export interface Earlier {
  result: StoredResult | null;
  /** The payment of a call whose seller has taken it as a job that is open. */
  openJob: { relayRequestId: string | null } | null;
  attempts: number;
}

export interface StoredResult extends Result {
  relayRequestId: string | null;
  /** Of a stream that broke off: what was paid for it is owed back. */
  isBroken: boolean;
  /** True if the charge, or the debt, is confirmed, or the call cost nothing. Until then the result is not returned. */
  isFinal: boolean;
}

/** The columns that are stored for every call, and for every attempt at one. */
const CALL_COLUMNS =
  `id uuid, buyer_id uuid, seller_id uuid, listing_id uuid, listing_name text, listing_slug text, body_digest bytea,
  gross_micros bigint, fee_micros bigint, net_micros bigint, fee_bps int, usage jsonb, payment_id uuid, relay_request_id text,
  provider text, scheme text, network text` as const;
/** A signature may have paid the offer on another chain than the one that was quoted first. */
const ROUTE_PAID = 'provider = excluded.provider, scheme = excluded.scheme, network = excluded.network';
const ATTEMPT_COLUMNS =
  `${CALL_COLUMNS}, transaction_hash text, attempts int, seller_status_code int, latency_ms int` as const;

const toCallRow = ({ id, buyerId, listing, bodyDigest, money, payment }: CallRecord) => ({
  id,
  buyer_id: buyerId,
  seller_id: listing.sellerId,
  listing_id: listing.listingId,
  listing_name: listing.name,
  listing_slug: listing.slug,
  body_digest: bodyDigest,
  gross_micros: money.grossMicros,
  fee_micros: money.feeMicros,
  net_micros: money.netMicros,
  fee_bps: money.feeBps,
  usage: money.usage,
  payment_id: payment?.paymentId,
  relay_request_id: payment?.relayRequestId,
  provider: payment?.provider,
  scheme: payment?.scheme,
  network: payment?.network,
});
const toAttemptRow = (call: AttemptedCall, { statusCode, latencyMs }: { statusCode: number; latencyMs: number }) => ({
  ...toCallRow(call),
  transaction_hash: call.payment?.transactionHash,
  attempts: call.attempt,
  seller_status_code: statusCode,
  latency_ms: latencyMs,
});

const paymentOf = (offer: PaymentOffer): CallPayment => ({
  paymentId: offer.payment_id,
  relayRequestId: offer.relay_request_id,
  provider: offer.provider,
  scheme: offer.retry_headers['X-Market-Payment-Scheme']!,
  network: offer.requirements.network,
});

const insertQuotes = withParameters({ quotes: `${CALL_COLUMNS}, offer_expires_at timestamptz` }, ({ quotes }) =>
  sql(
    'gateway-requests.insert-quotes',
    `INSERT INTO gateway_requests (${quotes.columns}, status)
       SELECT ${quotes.columns}, 'payment_required' FROM ${quotes.table}
       ON CONFLICT (id) DO NOTHING`,
  ),
);

/**
 * Stores the first billable result of each call. A later result replaces neither a stored result nor a refund. In
 * either case the endpoint has answered, so its consecutive failures are reset. The statement also returns the
 * endpoints that were not known to work.
 */
const storeDeliveries = withParameters(
  { calls: `${ATTEMPT_COLUMNS}, units bigint, result_json text, response_digest bytea`, url_digests: 'bytea[]' },
  ({ calls, url_digests }) =>
    sql(
      'gateway-requests.store-deliveries',
      `WITH answered AS (
         UPDATE endpoints SET failed_calls = '{}', failed_buyers = '{}'
         WHERE listing_id = ANY(${calls.arrays.listing_id}) AND url_digest = ANY(${url_digests})
           AND (failed_calls <> '{}' OR health <> 'active')
         RETURNING listing_id, health
       ), stored AS (
         INSERT INTO gateway_requests AS g (${calls.columns}, status, billable, completed_at, settled_at)
         SELECT ${calls.columns}, 'succeeded', true, now(), CASE WHEN payment_id IS NULL THEN now() END FROM ${calls.table}
         ON CONFLICT (id) DO UPDATE SET
           status = 'succeeded', ${ROUTE_PAID}, transaction_hash = excluded.transaction_hash, attempts = excluded.attempts, billable = true,
           units = excluded.units, gross_micros = excluded.gross_micros, fee_micros = excluded.fee_micros,
           net_micros = excluded.net_micros, seller_status_code = excluded.seller_status_code, latency_ms = excluded.latency_ms,
           error_code = NULL, result_json = excluded.result_json,
           response_digest = excluded.response_digest, completed_at = excluded.completed_at, settled_at = excluded.settled_at,
           job_until = NULL
         WHERE g.billable IS NOT TRUE AND g.status <> 'refunded' AND NOT g.is_broken
         RETURNING g.id)
       SELECT id AS stored_id, NULL::uuid AS recovering_id FROM stored
       UNION ALL SELECT NULL, listing_id FROM answered WHERE health <> 'active'`,
    ),
);

/** In the transaction that stores the results of these calls. */
const keepContents = withParameters(
  { contents: 'call_id uuid, content_id uuid, content_type text, size int, kept_hours int' },
  ({ contents }) =>
    sql(
      'contents.keep',
      `WITH kept AS (
         UPDATE contents c SET expires_at = now() + contents.kept_hours * interval '1 hour'
         FROM ${contents.table} WHERE c.id = contents.content_id)
       UPDATE gateway_requests g
       SET content_id = contents.content_id, content_type = contents.content_type, content_size = contents.size
       FROM ${contents.table} WHERE g.id = contents.call_id`,
    ),
);

const markForwarding = withParameters(
  { calls: `${CALL_COLUMNS}, transaction_hash text, attempts int`, timeout_ms: 'int' },
  ({ calls, timeout_ms }) =>
    sql(
      'gateway-requests.mark-forwarding',
      `INSERT INTO gateway_requests AS g (${calls.columns}, status, forwarding_until)
       SELECT ${calls.columns}, 'forwarding', now() + ${timeout_ms} * interval '1 millisecond' FROM ${calls.table}
       ON CONFLICT (id) DO UPDATE SET status = 'forwarding', ${ROUTE_PAID}, attempts = excluded.attempts,
         forwarding_until = excluded.forwarding_until,
         transaction_hash = coalesce(excluded.transaction_hash, g.transaction_hash)
       WHERE g.billable IS NOT TRUE AND g.status <> 'refunded' AND g.attempts <= excluded.attempts`,
    ),
);
const markSettled = withParameters({ calls: 'id uuid, settled_at timestamptz, transaction_hash text' }, ({ calls }) =>
  sql(
    'gateway-requests.mark-settled',
    `UPDATE gateway_requests g SET settled_at = calls.settled_at,
         transaction_hash = coalesce(calls.transaction_hash, g.transaction_hash)
       FROM ${calls.table} WHERE g.id = calls.id AND g.settled_at IS NULL`,
  ),
);
const markPending = sql(
  'gateway-requests.mark-pending',
  `UPDATE gateway_requests SET status = 'payment_pending' WHERE id = $1 AND status = 'payment_required'`,
);
/** A call that is paid does not expire with its offer. */
const keepUntil = sql(
  'gateway-requests.keep-until',
  `UPDATE gateway_requests SET offer_expires_at = $2 WHERE id = $1 AND status IN ('payment_required', 'payment_pending', 'paid')`,
);
/** The history shows this many of the latest failed attempts of a call. */
const MAX_ATTEMPTS_SHOWN = 20;
const storeFailure = withParameters({ calls: `${ATTEMPT_COLUMNS}, status text, error_code text` }, ({ calls }) =>
  sql(
    'gateway-requests.store-failure',
    `INSERT INTO gateway_requests AS g (${calls.columns}, billable, completed_at, failed_attempts)
     SELECT ${calls.columns}, false, now(), jsonb_build_array(jsonb_build_object(
       'started_at', now() - latency_ms * interval '1 millisecond', 'seller_status_code', seller_status_code,
       'latency_ms', latency_ms, 'outcome', error_code))
     FROM ${calls.table}
     ON CONFLICT (id) DO UPDATE SET
       status = excluded.status, ${ROUTE_PAID}, attempts = excluded.attempts, transaction_hash = excluded.transaction_hash,
       billable = false,
       seller_status_code = excluded.seller_status_code, latency_ms = excluded.latency_ms,
       error_code = excluded.error_code, completed_at = excluded.completed_at,
       failed_attempts = CASE WHEN jsonb_array_length(g.failed_attempts) < ${MAX_ATTEMPTS_SHOWN} THEN g.failed_attempts
         ELSE g.failed_attempts - 0 END || excluded.failed_attempts
     WHERE g.billable IS NOT TRUE AND g.status <> 'refunded' AND g.attempts <= excluded.attempts`,
  ),
);
const findStored = sql(
  'gateway-requests.find-stored',
  lookupSql(
    `SELECT ${RESULT_COLUMNS}, (billable OR is_broken) AND result_json IS NOT NULL AS "hasResult", is_broken AS "isBroken",
       relay_request_id AS "relayRequestId",
       settled_at IS NOT NULL AS "isFinal", attempts, job_until IS NOT NULL AS "isOpenJob"
     FROM gateway_requests WHERE id = asked.key::uuid`,
  ),
);
const findRelayRequest = sql(
  'gateway-requests.find-relay-request',
  'SELECT relay_request_id FROM gateway_requests WHERE id = $1',
);
const findListing = sql(
  'gateway-requests.find-listing',
  'SELECT listing_id FROM gateway_requests WHERE buyer_id = $1 AND relay_request_id = $2 AND listing_slug = $3 LIMIT 1',
);

type StoredRow = StoredResult & { hasResult: boolean; attempts: number; isOpenJob: boolean };
interface SettledCall {
  id: string;
  completedAt: string;
  transfer: { transaction: string } | null;
}
/** Whether a delivery was stored, and whether its endpoint recovers. */
type Stored = { isKept: boolean; recovers: boolean };

/** The records of calls. Deliveries of concurrent calls share one statement and one commit. */
@Injectable()
export class CallRecords implements OnModuleDestroy {
  private readonly logger = new Logger('CallRecords');
  private readonly deliveries = new GroupCommit<Delivery & { context: RequestContext }, Stored>(
    (items) => this.writeDeliveries(items),
    {
      maxSize: 64,
    },
  );
  private readonly quotes = new WriteBehind<Quote>((items) => this.writeQuotes(items));
  private readonly settled = new WriteBehind<SettledCall>((items) => this.writeSettled(items));
  private readonly stored: GroupLookup<StoredRow>;

  constructor(
    private readonly database: Database,
    private readonly outbox: Outbox,
    private readonly health: EndpointHealth,
    private readonly evidence: CallEvidence,
    private readonly jobs: JobRecords,
    @Inject(gatewayConfig.token) private readonly config: GatewayConfig,
  ) {
    this.stored = new GroupLookup(database, findStored);
  }

  /** Runs when the last call of this process is answered. */
  onModuleDestroy(): Promise<void> {
    return this.flush();
  }

  /** Writes what this process has not written yet, so that the history shows its own calls at once. */
  async flush(): Promise<void> {
    await Promise.all([this.quotes.flush(), this.settled.flush()]);
  }

  /**
   * Shows a call that was quoted in the history a moment later, unless it is delivered before. If that is lost, the
   * call is shown from its first attempt on: the offer is the ledger's, and an attempt stores the whole call. A call
   * that an Idempotency-Key is bound to is stored at once, because the key is looked up with it.
   */
  async recordQuote(quote: Quote, { idempotency }: Pick<RequestContext, 'idempotency'>): Promise<void> {
    this.quotes.add(quote.id, quote);
    if (idempotency) await this.quotes.flush();
  }

  /** @returns false if an earlier attempt has stored a billable result, which stays, or if the payment was refunded. */
  async storeDelivery(delivery: Delivery, context: RequestContext): Promise<boolean> {
    const { isKept, recovers } = await this.deliveries.submit({ ...delivery, context });
    // If this fails, the next success repeats it.
    if (recovers)
      await this.health
        .recovered(delivery.endpoint, context)
        .catch((error: unknown) => this.logger.warn(`an endpoint stays as it was: ${String(error)}`));
    return isKept;
  }

  /**
   * Records an attempt that delivered nothing. A refusal by the seller (4xx) may be the fault of the request, so it
   * counts neither against the endpoint nor against the seller's reputation.
   */
  async storeFailure(
    attempt: AttemptedCall,
    endpoint: CalledEndpoint,
    outcome: SellerFailed,
    context: RequestContext,
  ): Promise<void> {
    await this.database.transaction((tx) => this.writeFailure(tx, attempt, endpoint, outcome, context));
  }

  async writeFailure(
    tx: Tx,
    attempt: AttemptedCall,
    endpoint: CalledEndpoint,
    outcome: SellerFailed,
    context: RequestContext,
  ): Promise<void> {
    const { reason } = outcome;
    const status = reason === 'seller_refused' ? reason : 'seller_failed';
    const row = { ...toAttemptRow(attempt, outcome), status, error_code: reason };
    this.quotes.delete(attempt.id);
    await tx.query(storeFailure, storeFailure.values({ calls: [row] }));
    if (reason === 'seller_refused') return;
    await this.health.failed(tx, endpoint, { ...attempt, contact: outcome.contact }, context);
    const failed = {
      gatewayRequestId: attempt.id,
      attempt: attempt.attempt,
      buyerId: attempt.buyerId,
      sellerId: attempt.listing.sellerId,
      listingId: attempt.listing.listingId,
      isPaid: isCharged(attempt.payment),
      reason,
      sellerStatusCode: outcome.statusCode,
      latencyMs: outcome.latencyMs,
      at: new Date().toISOString(),
    };
    if (failed.isPaid) await this.evidence.add(tx, [{ ...failed, callId: attempt.id, latencyMs: null }]);
    this.outbox.add(tx, callFailed, failed, context);
  }

  async markForwarding(call: AttemptedCall, timeoutMs: number): Promise<void> {
    this.quotes.delete(call.id);
    const row = { ...toCallRow(call), transaction_hash: call.payment?.transactionHash, attempts: call.attempt };
    await this.database.query(markForwarding, markForwarding.values({ calls: [row], timeout_ms: timeoutMs }));
  }

  /**
   * Records a moment later that a call was charged, as the ledger said, together with other calls. If that is lost, the
   * resume job settles the call again, which changes nothing else.
   */
  markSettled(id: string, { completedAt, transfer }: Omit<SettledCall, 'id'>): void {
    this.settled.add(id, { id, completedAt, transfer });
  }

  async markPending(id: string): Promise<void> {
    if (this.quotes.has(id)) await this.quotes.flush();
    await this.database.query(markPending, [id]);
  }

  async keepUntil(id: string, until: string): Promise<void> {
    if (this.quotes.has(id)) await this.quotes.flush();
    await this.database.query(keepUntil, [id, until]);
  }

  async findResult(id: string): Promise<StoredResult | null> {
    return (await this.findEarlier(id)).result;
  }

  async findEarlier(id: string): Promise<Earlier> {
    const [row] = await this.stored.find(id);
    const { hasResult, isOpenJob, attempts = 0 } = row ?? {};
    return { result: hasResult ? row! : null, openJob: isOpenJob ? row! : null, attempts };
  }

  /**
   * The listing that a buyer's call was quoted for under this slug. It reads the buyer's calls, so it is used only
   * while the catalog is unavailable.
   */
  async findListing(buyerId: string, relayRequestId: string, slug: string): Promise<string | null> {
    const [row] = await this.database.query<{ listing_id: string }>(findListing, [buyerId, relayRequestId, slug]);
    return row?.listing_id ?? null;
  }

  /** The relay request id of a call; null if the call costs nothing or is no longer stored. */
  async findRelayRequest(id: string): Promise<string | null> {
    const [row] = await this.database.query<{ relay_request_id: string | null }>(findRelayRequest, [id]);
    return row?.relay_request_id ?? null;
  }

  private async writeQuotes(quotes: Quote[]): Promise<void> {
    const rows = quotes.map(({ offer, ...quote }) => ({
      ...toCallRow({ ...quote, payment: paymentOf(offer) }),
      offer_expires_at: offer.requirements.expiresAt,
    }));
    await this.database
      .query(insertQuotes, insertQuotes.values({ quotes: rows }))
      .catch((error: unknown) => this.logger.warn(`${quotes.length} quotes are not in the history: ${String(error)}`));
  }

  private async writeSettled(calls: SettledCall[]): Promise<void> {
    const rows = calls.map(({ id, completedAt, transfer }) => ({
      id,
      settled_at: completedAt,
      transaction_hash: transfer?.transaction ?? null,
    }));
    await this.database
      .query(markSettled, markSettled.values({ calls: rows }))
      .catch((error: unknown) =>
        this.logger.warn(`${calls.length} calls are marked as settled later: ${String(error)}`),
      );
  }

  private async writeDeliveries(group: (Delivery & { context: RequestContext })[]): Promise<Stored[]> {
    // The rows are sorted by id, so that two processes that store the same calls do not deadlock.
    const deliveries = group.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    for (const { id } of deliveries) this.quotes.delete(id);
    const values = storeDeliveries.values({
      calls: deliveries.map((delivery) => ({
        ...toAttemptRow(delivery, delivery),
        units: delivery.units,
        result_json: delivery.answer,
        response_digest: delivery.answerDigest,
      })),
      url_digests: deliveries.map(({ endpoint }) => endpoint.urlDigest),
    });
    const store = (to: Pick<Tx, 'query'>) =>
      to.query<{ stored_id: string | null; recovering_id: string | null }>(storeDeliveries, values);
    const rows = deliveries.some(({ content, isJob }) => content !== null || isJob)
      ? await this.database.transaction(async (tx) => {
          const written = await store(tx);
          const kept = deliveries.filter(({ id }) => written.some(({ stored_id }) => stored_id === id));
          await this.keepContents(tx, kept);
          for (const { context, ...call } of kept) if (call.isJob) this.jobs.tellEnd(tx, call, null, context);
          return written;
        })
      : await store(this.database);
    const stored = new Set(rows.map((row) => row.stored_id));
    const recovering = new Set(rows.map((row) => row.recovering_id));
    return group.map(({ id, endpoint }) => ({ isKept: stored.has(id), recovers: recovering.has(endpoint.listingId) }));
  }

  /** The files and streams of free calls are kept for a day, and of others for as long as their results. */
  async keepContents(tx: Tx, deliveries: Omit<Delivery, 'endpoint'>[]): Promise<void> {
    const contents = deliveries.flatMap(({ id, content, payment }) =>
      content
        ? {
            call_id: id,
            content_id: content.id,
            content_type: content.contentType,
            size: content.size,
            kept_hours: payment ? 24 * this.config.resultsKeptDays : 24,
          }
        : [],
    );
    if (contents.length > 0) await tx.query(keepContents, keepContents.values({ contents }));
  }
}
