import { callFailed } from '@market/contracts/gateway';
import type { CallMoney, PaymentOffer } from '@market/contracts/payments-ledger';
import type { Offering } from '@market/contracts/catalog';
import type { RequestContext } from '@market/messaging';
import { Database, GroupCommit, Outbox, sql, withParameters } from '@market/persistence';
import { Injectable, Logger } from '@nestjs/common';
import type { SellerFailed } from '../egress/seller-outcome.js';
import { EndpointHealth, type CalledEndpoint } from '../endpoints/endpoint-health.js';
import type { CallTime } from './metrics.js';

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
}

interface Quote extends Omit<CallRecord, 'payment'> {
  offer: PaymentOffer;
}

/**
 * A call that only this attempt may make. The attempt holds the claim of the payment, or the lease of the record if the
 * call costs nothing.
 */
export interface HeldCall extends CallRecord {
  payment: (CallPayment & { transactionHash: string | null; retryUntil: string; isSigned?: true }) | null;
  /** The fence of the claim or of the lease. */
  fence: number;
  /** The number of requests that the seller may have received, including this one. */
  attempt: number;
  time: CallTime;
}

type Delivery = HeldCall & Result & { endpoint: CalledEndpoint };

export interface Result {
  answer: string;
  answerDigest: Buffer;
  statusCode: number;
  latencyMs: number;
}

/** The results of the earlier attempts at a call. */
export interface Earlier {
  result: StoredResult | null;
  /** The number of claims that were released before the seller was called. They do not count as attempts. */
  releasedClaims: number;
}

export interface StoredResult extends Result {
  relayRequestId: string | null;
  /** True if the charge is confirmed or the call cost nothing. Until then the result is not returned. */
  isFinal: boolean;
}

/** SQL: the columns of a stored result, named as in `Result`. */
export const RESULT_COLUMNS =
  'result_json AS answer, response_digest AS "answerDigest", seller_status_code AS "statusCode", latency_ms AS "latencyMs"';

/** The columns that are stored for every call, and for every attempt at one. */
export const CALL_COLUMNS =
  `id uuid, buyer_id uuid, seller_id uuid, listing_id uuid, listing_name text, listing_slug text, body_digest bytea,
  gross_micros bigint, fee_micros bigint, net_micros bigint, fee_bps int, payment_id uuid, relay_request_id text` as const;
const ATTEMPT_COLUMNS =
  `${CALL_COLUMNS}, transaction_hash text, fence int, seller_status_code int, latency_ms int` as const;

export const toCallRow = ({ id, buyerId, listing, bodyDigest, money, payment }: CallRecord) => ({
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
  payment_id: payment?.paymentId,
  relay_request_id: payment?.relayRequestId,
});
const toAttemptRow = (call: HeldCall, { statusCode, latencyMs }: { statusCode: number; latencyMs: number }) => ({
  ...toCallRow(call),
  transaction_hash: call.payment?.transactionHash,
  fence: call.fence,
  seller_status_code: statusCode,
  latency_ms: latencyMs,
});

const insertQuotes = withParameters(
  { quotes: `${CALL_COLUMNS}, provider text, scheme text, network text, offer_expires_at timestamptz` },
  ({ quotes }) =>
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
  { calls: `${ATTEMPT_COLUMNS}, result_json text, response_digest bytea`, url_digests: 'bytea[]' },
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
           status = 'succeeded', transaction_hash = excluded.transaction_hash, fence = excluded.fence, billable = true, lease_until = NULL,
           seller_status_code = excluded.seller_status_code, latency_ms = excluded.latency_ms,
           error_code = NULL, result_json = excluded.result_json,
           response_digest = excluded.response_digest, completed_at = excluded.completed_at, settled_at = excluded.settled_at
         WHERE g.billable IS NOT TRUE AND g.status <> 'refunded'
         RETURNING g.id)
       SELECT id AS stored_id, NULL::uuid AS recovering_id FROM stored
       UNION ALL SELECT NULL, listing_id FROM answered WHERE health <> 'active'`,
    ),
);

const markForwarding = sql(
  'gateway-requests.mark-forwarding',
  `UPDATE gateway_requests SET status = 'forwarding', fence = $2, transaction_hash = coalesce($3, transaction_hash)
   WHERE id = $1 AND billable IS NOT TRUE AND fence <= $2`,
);
const markPending = sql(
  'gateway-requests.mark-pending',
  `UPDATE gateway_requests SET status = 'payment_pending' WHERE id = $1 AND status = 'payment_required'`,
);
const release = sql(
  'gateway-requests.release',
  `UPDATE gateway_requests SET released_claims = released_claims + 1,
     offer_expires_at = CASE WHEN status IN ('payment_required', 'payment_pending') THEN $2 ELSE offer_expires_at END
   WHERE id = $1`,
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
       status = excluded.status, fence = excluded.fence, transaction_hash = excluded.transaction_hash,
       billable = false, lease_until = NULL,
       seller_status_code = excluded.seller_status_code, latency_ms = excluded.latency_ms,
       error_code = excluded.error_code, completed_at = excluded.completed_at,
       failed_attempts = CASE WHEN jsonb_array_length(g.failed_attempts) < ${MAX_ATTEMPTS_SHOWN} THEN g.failed_attempts
         ELSE g.failed_attempts - 0 END || excluded.failed_attempts
     WHERE g.billable IS NOT TRUE AND g.status <> 'refunded' AND g.fence <= excluded.fence`,
  ),
);
const findStored = sql(
  'gateway-requests.find-stored',
  `SELECT ${RESULT_COLUMNS}, billable AND result_json IS NOT NULL AS "hasResult", relay_request_id AS "relayRequestId",
     settled_at IS NOT NULL AS "isFinal", released_claims AS "releasedClaims"
   FROM gateway_requests WHERE id = $1`,
);
const findRelayRequest = sql(
  'gateway-requests.find-relay-request',
  'SELECT relay_request_id FROM gateway_requests WHERE id = $1',
);
const findListing = sql(
  'gateway-requests.find-listing',
  'SELECT listing_id FROM gateway_requests WHERE buyer_id = $1 AND relay_request_id = $2 AND listing_slug = $3 LIMIT 1',
);

type StoredRow = StoredResult & { hasResult: boolean; releasedClaims: number };
/** Whether a delivery was stored, and whether its endpoint recovers. */
type Stored = { isKept: boolean; recovers: boolean };

/** The records of calls. Quotes and deliveries of concurrent calls share one statement and one commit. */
@Injectable()
export class CallRecords {
  private readonly logger = new Logger('CallRecords');
  private readonly quotes = new GroupCommit<Quote, void>((items) => this.writeQuotes(items));
  private readonly deliveries = new GroupCommit<Delivery, Stored>((items) => this.writeDeliveries(items), {
    maxSize: 64,
  });

  constructor(
    private readonly database: Database,
    private readonly outbox: Outbox,
    private readonly health: EndpointHealth,
  ) {}

  recordQuote(quote: Quote): Promise<void> {
    return this.quotes.submit(quote);
  }

  /** @returns false if an earlier attempt has stored a billable result, which stays, or if the payment was refunded. */
  async storeDelivery(delivery: Delivery, context: RequestContext): Promise<boolean> {
    const { isKept, recovers } = await this.deliveries.submit(delivery);
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
    attempt: HeldCall,
    endpoint: CalledEndpoint,
    outcome: SellerFailed,
    context: RequestContext,
  ): Promise<void> {
    const { reason } = outcome;
    const status = reason === 'seller_refused' ? reason : 'seller_failed';
    const row = { ...toAttemptRow(attempt, outcome), status, error_code: reason };
    await this.database.transaction(async (tx) => {
      await tx.query(storeFailure, storeFailure.values({ calls: [row] }));
      if (reason === 'seller_refused') return;
      await this.health.failed(tx, endpoint, { ...attempt, contact: outcome.contact }, context);
      this.outbox.add(
        tx,
        callFailed,
        {
          gatewayRequestId: attempt.id,
          attempt: attempt.attempt,
          buyerId: attempt.buyerId,
          sellerId: attempt.listing.sellerId,
          listingId: attempt.listing.listingId,
          isPaid: attempt.payment !== null,
          reason,
          sellerStatusCode: outcome.statusCode,
          latencyMs: outcome.latencyMs,
          at: new Date().toISOString(),
        },
        context,
      );
    });
  }

  async markForwarding(id: string, fence: number, transactionHash: string | null): Promise<void> {
    await this.database.query(markForwarding, [id, fence, transactionHash]);
  }

  async markPending(id: string): Promise<void> {
    await this.database.query(markPending, [id]);
  }

  /**
   * Records that a claim was released before the seller was called. The claim does not count as an attempt. The call is
   * paid, so it does not expire with its offer.
   */
  async release(id: string, until: string): Promise<void> {
    await this.database.query(release, [id, until]);
  }

  async findResult(id: string): Promise<StoredResult | null> {
    return (await this.findEarlier(id)).result;
  }

  async findEarlier(id: string): Promise<Earlier> {
    const [row] = await this.database.query<StoredRow>(findStored, [id]);
    return { result: row?.hasResult ? row : null, releasedClaims: row?.releasedClaims ?? 0 };
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

  private async writeQuotes(quotes: Quote[]): Promise<void[]> {
    const rows = quotes.map(({ offer, ...quote }) => ({
      ...toCallRow({ ...quote, payment: { paymentId: offer.payment_id, relayRequestId: offer.relay_request_id } }),
      provider: offer.provider,
      scheme: offer.retry_headers['X-Market-Payment-Scheme'],
      network: offer.requirements.network,
      offer_expires_at: offer.requirements.expiresAt,
    }));
    await this.database.query(insertQuotes, insertQuotes.values({ quotes: rows }));
    return quotes.map(() => undefined);
  }

  private async writeDeliveries(group: Delivery[]): Promise<Stored[]> {
    // The rows are sorted by id, so that two processes that store the same calls do not deadlock.
    const deliveries = group.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    const values = storeDeliveries.values({
      calls: deliveries.map((delivery) => ({
        ...toAttemptRow(delivery, delivery),
        result_json: delivery.answer,
        response_digest: delivery.answerDigest,
      })),
      url_digests: deliveries.map(({ endpoint }) => endpoint.urlDigest),
    });
    const rows = await this.database.query<{ stored_id: string | null; recovering_id: string | null }>(
      storeDeliveries,
      values,
    );
    const stored = new Set(rows.map((row) => row.stored_id));
    const recovering = new Set(rows.map((row) => row.recovering_id));
    return group.map(({ id, endpoint }) => ({ isKept: stored.has(id), recovers: recovering.has(endpoint.listingId) }));
  }
}
