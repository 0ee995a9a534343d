import { callFailed } from '@market/contracts/gateway';
import type { CallMoney, PaymentOffer } from '@market/contracts/payments-ledger';
import type { Offering } from '@market/contracts/catalog';
import type { RequestContext } from '@market/messaging';
import { Database, GroupCommit, Outbox, sql } from '@market/persistence';
import { Injectable, Logger } from '@nestjs/common';
import type { SellerFailed } from '../egress/seller-outcome.js';
import { EndpointHealth, type CalledEndpoint } from '../endpoints/endpoint-health.js';

/** One call, as its record is kept. */
export interface CallRecord {
  id: string;
  buyerId: string;
  listing: Pick<Offering, 'listingId' | 'name' | 'slug' | 'sellerId'>;
  bodyDigest: Buffer;
}

export interface Quote extends CallRecord {
  offer: PaymentOffer;
  money: CallMoney;
}

export interface Delivery extends CallRecord, Result {
  endpoint: CalledEndpoint;
  payment: { paymentId: string; relayRequestId: string; transactionHash: string | null; fence: number } | null;
  money: CallMoney;
}

export interface Result {
  answer: string;
  answerDigest: Buffer;
  statusCode: number;
  latencyMs: number;
}

/** What is known of the attempts at a call before this one. */
export interface Earlier {
  result: StoredResult | null;
  /** Claims that were given back before the seller was called: no attempts. */
  unusedClaims: number;
}

interface Stored {
  /** This delivery is the one that is kept. */
  isKept: boolean;
  /** Its endpoint was not known to work, and does. */
  recovers: boolean;
}

export interface StoredResult extends Result {
  relayRequestId: string | null;
  /** It is known to be charged for, or cost nothing; until then it is not shown. */
  isFinal: boolean;
}

const insertQuotes = sql(
  'gateway-requests.insert-quotes',
  `INSERT INTO gateway_requests (id, buyer_id, seller_id, listing_id, listing_name, listing_slug, status, body_digest, gross_micros, fee_micros, net_micros, fee_bps,
     payment_id, relay_request_id, provider, scheme, network, offer_expires_at)
   SELECT id, buyer_id, seller_id, listing_id, listing_name, listing_slug, 'payment_required', body_digest, gross_micros, fee_micros, net_micros, fee_bps,
     payment_id, relay_request_id, provider, scheme, network, offer_expires_at
   FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::bytea[], $8::bigint[], $9::bigint[], $10::bigint[], $11::int[],
     $12::uuid[], $13::text[], $14::text[], $15::text[], $16::text[], $17::timestamptz[])
     AS q (id, buyer_id, seller_id, listing_id, listing_name, listing_slug, body_digest, gross_micros, fee_micros, net_micros, fee_bps, payment_id, relay_request_id, provider, scheme, network, offer_expires_at)
   ON CONFLICT (id) DO NOTHING`,
);

/**
 * The first billable result of a call is the one it has: a later attempt's answer does not replace it, nor undo a refund.
 * Whichever stands, the endpoints have answered: their failures in a row end here, and those not known to work are named.
 */
const storeDeliveries = sql(
  'gateway-requests.store-deliveries',
  `WITH answered AS (
     UPDATE endpoints SET failed_calls = '{}', failed_buyers = '{}'
     WHERE listing_id = ANY($20::uuid[]) AND url_digest = ANY($21::bytea[]) AND (failed_calls <> '{}' OR health <> 'active')
     RETURNING listing_id, health
   ), stored AS (
   INSERT INTO gateway_requests AS g (id, buyer_id, seller_id, listing_id, listing_name, listing_slug, status, body_digest, gross_micros, fee_micros, net_micros, fee_bps,
     payment_id, relay_request_id, transaction_hash, fence, billable, seller_status_code, latency_ms, result_json, response_digest, completed_at, settled_at)
   SELECT id, buyer_id, seller_id, listing_id, listing_name, listing_slug, 'succeeded', body_digest, gross_micros, fee_micros, net_micros, fee_bps,
     payment_id, relay_request_id, transaction_hash, fence, true, seller_status_code, latency_ms, result_json, response_digest, now(), CASE WHEN payment_id IS NULL THEN now() END
   FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::bytea[], $8::bigint[], $9::bigint[], $10::bigint[], $11::int[],
     $12::uuid[], $13::text[], $14::text[], $15::int[], $16::int[], $17::int[], $18::text[], $19::bytea[])
     AS d (id, buyer_id, seller_id, listing_id, listing_name, listing_slug, body_digest, gross_micros, fee_micros, net_micros, fee_bps, payment_id, relay_request_id, transaction_hash, fence, seller_status_code, latency_ms, result_json, response_digest)
   ON CONFLICT (id) DO UPDATE SET status = 'succeeded', transaction_hash = excluded.transaction_hash, fence = excluded.fence, billable = true, lease_until = NULL,
     seller_status_code = excluded.seller_status_code, latency_ms = excluded.latency_ms, error_code = NULL, result_json = excluded.result_json,
     response_digest = excluded.response_digest, completed_at = excluded.completed_at, settled_at = excluded.settled_at
   WHERE g.billable IS NOT TRUE AND g.status <> 'refunded'
   RETURNING g.id)
   SELECT id AS stored_id, NULL::uuid AS recovering_id FROM stored
   UNION ALL SELECT NULL, listing_id FROM answered WHERE health <> 'active'`,
);

const markForwarding = sql(
  'gateway-requests.mark-forwarding',
  `UPDATE gateway_requests SET status = 'forwarding', fence = $2, transaction_hash = coalesce($3, transaction_hash) WHERE id = $1 AND billable IS NOT TRUE AND fence <= $2`,
);
const markPending = sql(
  'gateway-requests.mark-pending',
  `UPDATE gateway_requests SET status = 'payment_pending' WHERE id = $1 AND status = 'payment_required'`,
);
const giveBack = sql(
  'gateway-requests.give-back',
  `UPDATE gateway_requests SET unused_claims = unused_claims + 1, offer_expires_at = CASE WHEN status IN ('payment_required', 'payment_pending') THEN $2 ELSE offer_expires_at END WHERE id = $1`,
);
const storeFailure = sql(
  'gateway-requests.store-failure',
  `INSERT INTO gateway_requests AS g (id, buyer_id, seller_id, listing_id, listing_name, listing_slug, status, body_digest, gross_micros, fee_micros, net_micros, fee_bps,
     payment_id, relay_request_id, transaction_hash, fence, billable, seller_status_code, latency_ms, error_code, completed_at)
   VALUES ($1, $2, $3, $4, $5, $6, $19, $7, $8, $9, $10, $11, $12, $13, $14, $15, false, $16, $17, $18, now())
   ON CONFLICT (id) DO UPDATE SET status = excluded.status, fence = excluded.fence, transaction_hash = excluded.transaction_hash, billable = false, lease_until = NULL,
     seller_status_code = excluded.seller_status_code, latency_ms = excluded.latency_ms, error_code = excluded.error_code, completed_at = excluded.completed_at
   WHERE g.billable IS NOT TRUE AND g.status <> 'refunded' AND g.fence <= excluded.fence`,
);
const findResult = sql(
  'gateway-requests.find-result',
  'SELECT result_json, response_digest, seller_status_code, latency_ms, relay_request_id, settled_at FROM gateway_requests WHERE id = $1 AND billable AND result_json IS NOT NULL',
);
const findEarlier = sql(
  'gateway-requests.find-earlier',
  'SELECT billable, result_json, response_digest, seller_status_code, latency_ms, relay_request_id, settled_at, unused_claims FROM gateway_requests WHERE id = $1',
);
const findRelayRequest = sql(
  'gateway-requests.find-relay-request',
  'SELECT relay_request_id FROM gateway_requests WHERE id = $1',
);
const findListing = sql(
  'gateway-requests.find-listing',
  'SELECT listing_id FROM gateway_requests WHERE buyer_id = $1 AND relay_request_id = $2 AND listing_slug = $3 LIMIT 1',
);

interface ResultRow {
  result_json: string;
  response_digest: Buffer;
  seller_status_code: number;
  latency_ms: number;
  relay_request_id: string | null;
  settled_at: Date | null;
}

interface EarlierRow extends Omit<ResultRow, 'result_json'> {
  billable: boolean | null;
  result_json: string | null;
  unused_claims: number;
}

/** Where calls are written down. Quotes and deliveries of concurrent calls share one statement and one commit. */
@Injectable()
export class CallRecords {
  private readonly logger = new Logger('CallRecords');
  private readonly quotes = new GroupCommit<Quote, void>((items) => this.writeQuotes(items));
  private readonly deliveries = new GroupCommit<Delivery, Stored>((items) => this.writeDeliveries(items), 64);

  constructor(
    private readonly database: Database,
    private readonly outbox: Outbox,
    private readonly health: EndpointHealth,
  ) {}

  recordQuote(quote: Quote): Promise<void> {
    return this.quotes.submit(quote);
  }

  /** @returns false when an earlier attempt's billable result is there already and stays, or the payment was refunded. */
  async storeDelivery(delivery: Delivery, context: RequestContext): Promise<boolean> {
    const { isKept, recovers } = await this.deliveries.submit(delivery);
    // The next success tries again what this one did not manage.
    if (recovers)
      await this.health
        .recovered(delivery.endpoint, context)
        .catch((error: unknown) => this.logger.warn(`an endpoint stays as it was: ${String(error)}`));
    return isKept;
  }

  /**
   * What was not delivered. A seller's refusal (4xx) is an answer, and may be the request's fault: it counts neither against
   * its endpoint nor against its reputation.
   */
  async storeFailure(
    record: CallRecord & Pick<Delivery, 'payment' | 'money' | 'endpoint'>,
    outcome: SellerFailed,
    { attempt, fence }: { attempt: number; fence: number },
    context: RequestContext,
  ): Promise<void> {
    const { reason } = outcome;
    const isRefusal = reason === 'seller_refused';
    await this.database.transaction(async (tx) => {
      const { listing, money, payment } = record;
      await tx.query(storeFailure, [
        record.id,
        record.buyerId,
        listing.sellerId,
        listing.listingId,
        listing.name,
        listing.slug,
        record.bodyDigest,
        money.grossMicros,
        money.feeMicros,
        money.netMicros,
        money.feeBps,
        payment?.paymentId ?? null,
        payment?.relayRequestId ?? null,
        payment?.transactionHash ?? null,
        fence,
        outcome.statusCode,
        outcome.latencyMs,
        reason,
        isRefusal ? 'seller_refused' : 'seller_failed',
      ]);
      if (isRefusal) return;
      await this.health.failed(tx, record.endpoint, { ...record, contact: outcome.contact }, context);
      await this.outbox.add(
        tx,
        callFailed,
        {
          gatewayRequestId: record.id,
          attempt,
          buyerId: record.buyerId,
          sellerId: listing.sellerId,
          listingId: listing.listingId,
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

  /** It is paid and was not called yet: the claim was no attempt, and it does not expire with its offer. */
  async giveBack(id: string, until: string): Promise<void> {
    await this.database.query(giveBack, [id, until]);
  }

  async findResult(id: string): Promise<StoredResult | null> {
    const [row] = await this.database.query<ResultRow>(findResult, [id]);
    return row ? toResult(row) : null;
  }

  async findEarlier(id: string): Promise<Earlier> {
    const [row] = await this.database.query<EarlierRow>(findEarlier, [id]);
    if (!row) return { result: null, unusedClaims: 0 };
    const { billable, result_json: answer, unused_claims: unusedClaims } = row;
    return { result: billable && answer !== null ? toResult({ ...row, result_json: answer }) : null, unusedClaims };
  }

  /** The listing that a buyer's call was quoted for under this slug; reads what the buyer called, so only for want of the catalog. */
  async findListing(buyerId: string, relayRequestId: string, slug: string): Promise<string | null> {
    const [row] = await this.database.query<{ listing_id: string }>(findListing, [buyerId, relayRequestId, slug]);
    return row?.listing_id ?? null;
  }

  /** What a call is paid with; null where it costs nothing, or is not known any more. */
  async findRelayRequest(id: string): Promise<string | null> {
    const [row] = await this.database.query<{ relay_request_id: string | null }>(findRelayRequest, [id]);
    return row?.relay_request_id ?? null;
  }

  private async writeQuotes(quotes: Quote[]): Promise<void[]> {
    await this.database.query(insertQuotes, [
      quotes.map(({ id }) => id),
      quotes.map(({ buyerId }) => buyerId),
      quotes.map(({ listing }) => listing.sellerId),
      quotes.map(({ listing }) => listing.listingId),
      quotes.map(({ listing }) => listing.name),
      quotes.map(({ listing }) => listing.slug),
      quotes.map(({ bodyDigest }) => bodyDigest),
      quotes.map(({ money }) => money.grossMicros),
      quotes.map(({ money }) => money.feeMicros),
      quotes.map(({ money }) => money.netMicros),
      quotes.map(({ money }) => money.feeBps),
      quotes.map(({ offer }) => offer.payment_id),
      quotes.map(({ offer }) => offer.relay_request_id),
      quotes.map(({ offer }) => offer.provider),
      quotes.map(({ offer }) => offer.retry_headers['X-Market-Payment-Scheme'] ?? null),
      quotes.map(({ offer }) => offer.requirements.network),
      quotes.map(({ offer }) => offer.requirements.expiresAt),
    ]);
    return quotes.map(() => undefined);
  }

  private async writeDeliveries(group: Delivery[]): Promise<Stored[]> {
    // In one order, so that two processes that store the same calls wait for each other instead of deadlocking.
    const deliveries = group.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    const rows = await this.database.query<{ stored_id: string | null; recovering_id: string | null }>(
      storeDeliveries,
      [
        deliveries.map(({ id }) => id),
        deliveries.map(({ buyerId }) => buyerId),
        deliveries.map(({ listing }) => listing.sellerId),
        deliveries.map(({ listing }) => listing.listingId),
        deliveries.map(({ listing }) => listing.name),
        deliveries.map(({ listing }) => listing.slug),
        deliveries.map(({ bodyDigest }) => bodyDigest),
        deliveries.map(({ money }) => money.grossMicros),
        deliveries.map(({ money }) => money.feeMicros),
        deliveries.map(({ money }) => money.netMicros),
        deliveries.map(({ money }) => money.feeBps),
        deliveries.map(({ payment }) => payment?.paymentId ?? null),
        deliveries.map(({ payment }) => payment?.relayRequestId ?? null),
        deliveries.map(({ payment }) => payment?.transactionHash ?? null),
        deliveries.map(({ payment }) => payment?.fence ?? 0),
        deliveries.map(({ statusCode }) => statusCode),
        deliveries.map(({ latencyMs }) => latencyMs),
        deliveries.map(({ answer }) => answer),
        deliveries.map(({ answerDigest }) => answerDigest),
        deliveries.map(({ endpoint }) => endpoint.listingId),
        deliveries.map(({ endpoint }) => endpoint.urlDigest),
      ],
    );
    const stored = new Set(rows.map((row) => row.stored_id));
    const recovering = new Set(rows.map((row) => row.recovering_id));
    return group.map(({ id, endpoint }) => ({ isKept: stored.has(id), recovers: recovering.has(endpoint.listingId) }));
  }
}

function toResult(row: ResultRow): StoredResult {
  return {
    answer: row.result_json,
    answerDigest: row.response_digest,
    statusCode: row.seller_status_code,
    latencyMs: row.latency_ms,
    relayRequestId: row.relay_request_id,
    isFinal: row.settled_at !== null,
  };
}
