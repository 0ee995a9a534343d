import type { RequestContext } from '@market/messaging';
import { Database, sql, type Tx } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { gatewayConfig, type GatewayConfig } from '../config.js';
import type { SellerFailed, SellerOutcome } from '../egress/seller-outcome.js';
import type { CallableEndpoint } from './callable-endpoints.js';
import { endpointColumns, type EndpointRow } from './endpoint.js';
import { EndpointsRepository } from './endpoints.repository.js';

/** The URL that was called. The outcome does not count if the endpoint has another URL by now. */
export type CalledEndpoint = Pick<CallableEndpoint['endpoint'], 'listingId' | 'urlDigest'>;

/** A call for which the seller failed. */
export interface FailedCall {
  id: string;
  buyerId: string;
  contact: SellerFailed['contact'];
}

const MAX_FAILED_CALLS = 1_000;

const countFailure = sql(
  'endpoints.count-failure',
  `WITH counted AS (
     SELECT listing_id, health,
       CASE WHEN $3 = ANY(failed_calls) OR cardinality(failed_calls) >= ${MAX_FAILED_CALLS} THEN failed_calls
         ELSE failed_calls || $3::uuid END AS calls,
       CASE WHEN $4 = ANY(failed_buyers) OR cardinality(failed_buyers) >= 2 THEN failed_buyers ELSE failed_buyers || $4::uuid END AS buyers
     FROM endpoints WHERE listing_id = $1 AND url_digest = $2 FOR UPDATE
   ), evaluated AS (
     SELECT *, health <> 'failing' AND cardinality(calls) >= $6 AND cardinality(buyers) >= 2 AS breaks,
       health <> 'failing' AND (NOT $5 OR cardinality(calls) >= $6) AS is_doubted
     FROM counted
   )
   UPDATE endpoints e SET failed_calls = j.calls, failed_buyers = j.buyers,
     health = CASE WHEN j.breaks THEN 'failing' ELSE j.health END,
     probe_at = CASE WHEN j.breaks THEN now() + $7 * interval '1 millisecond'
       WHEN j.is_doubted THEN least(e.probe_at, now()) ELSE e.probe_at END,
     version = e.version + j.breaks::int,
     updated_at = CASE WHEN j.breaks THEN now() ELSE e.updated_at END
   FROM evaluated j WHERE e.listing_id = j.listing_id
   RETURNING ${endpointColumns('e')}, j.breaks AS changed`,
);
/** Keeps `failed_calls`, because failures that were counted after the success belong to later calls. */
const recover = sql(
  'endpoints.recover',
  `UPDATE endpoints e SET health = 'active', probe_at = now() + $4 * interval '1 millisecond', version = e.version + 1, updated_at = now()
   WHERE e.listing_id = $1 AND e.url_digest = $2 AND e.health <> 'active' AND cardinality(e.failed_calls) < $3
   RETURNING ${endpointColumns('e')}, true AS changed`,
);
const recordTest = sql(
  'endpoints.record-test',
  `WITH evaluated AS (
     SELECT listing_id, health AS was, CASE WHEN NOT $4 THEN 'failing' WHEN $3 OR health = 'failing' THEN 'active' ELSE health END AS health
     FROM endpoints WHERE listing_id = $1 AND url_digest = $2 FOR UPDATE
   )
   UPDATE endpoints e SET last_test_at = now(), last_test_ok = $3, last_test_status_code = $5, last_test_latency_ms = $6,
     failed_calls = CASE WHEN $4 THEN '{}' ELSE e.failed_calls END,
     failed_buyers = CASE WHEN $4 THEN '{}' ELSE e.failed_buyers END,
     health = j.health,
     probe_at = now() + CASE WHEN $4 THEN $8::float8 ELSE $7 END * interval '1 millisecond',
     version = e.version + (j.health <> j.was)::int,
     updated_at = CASE WHEN j.health <> j.was THEN now() ELSE e.updated_at END
   FROM evaluated j WHERE e.listing_id = j.listing_id
   RETURNING ${endpointColumns('e')}, j.health <> j.was AS changed`,
);
/** No other process takes the test until it has ended, or until a timeout if this process dies. */
const takeDue = sql(
  'endpoints.take-due',
  `UPDATE endpoints SET probe_at = now() + (timeout_ms + $2) * interval '1 millisecond'
   WHERE listing_id IN (
     SELECT listing_id FROM endpoints WHERE probe_at <= now() AND NOT paused
     ORDER BY probe_at LIMIT $1 FOR UPDATE SKIP LOCKED)
   RETURNING listing_id AS "listingId", seller_id AS "sellerId"`,
);

type HealthRow = EndpointRow & { changed: boolean };

/**
 * A circuit breaker per endpoint, whose state is in the endpoint's row. No single buyer can open it.
 * The endpoint becomes `failing`, and calls are neither sold nor forwarded, in two cases: `GATEWAY_FAILING_AFTER` calls
 * of at least two buyers failed since the last success (repeated attempts of a call count once), or the marketplace's
 * own test fails.
 * The marketplace tests an endpoint some time after its URL is set, every `GATEWAY_PROBE_INTERVAL_MS` while it is
 * failing, and every `GATEWAY_IDLE_PROBE_INTERVAL_MS` while it works. It tests immediately if a call did not reach the
 * seller, or if that many calls of one buyer failed.
 * An answered test, or a billable call that was already in progress, makes the endpoint `active` again. A billable
 * answer resets the failures in the statement that stores it (see `CallRecords`). Pausing changes none of this.
 */
@Injectable()
export class EndpointHealth {
  constructor(
    private readonly database: Database,
    private readonly endpoints: EndpointsRepository,
    @Inject(gatewayConfig.token) private readonly config: GatewayConfig,
  ) {}

  /** Counts a call that was not billable, in the transaction that records it. */
  async failed(
    tx: Tx,
    { listingId, urlDigest }: CalledEndpoint,
    { id, buyerId, contact }: FailedCall,
    context: RequestContext,
  ): Promise<void> {
    const { failingAfter, probeIntervalMs } = this.config;
    await this.publishIfChanged(
      tx,
      await tx.query<HealthRow>(countFailure, [
        listingId,
        urlDigest,
        id,
        buyerId,
        contact !== 'none',
        failingAfter,
        probeIntervalMs,
      ]),
      context,
    );
  }

  /** Marks the endpoint as working after a billable call while it was not `active`. */
  async recovered({ listingId, urlDigest }: CalledEndpoint, context: RequestContext): Promise<void> {
    await this.database.transaction(async (tx) =>
      this.publishIfChanged(
        tx,
        await tx.query<HealthRow>(recover, [
          listingId,
          urlDigest,
          this.config.failingAfter,
          this.config.idleProbeIntervalMs,
        ]),
        context,
      ),
    );
  }

  /**
   * Records the outcome of a test, unless the URL changed meanwhile. Any answer below 500 shows that the seller works,
   * but only a 2xx answer verifies a new URL.
   */
  async tested(
    { listingId, urlDigest }: CalledEndpoint,
    outcome: SellerOutcome,
    context: RequestContext,
  ): Promise<void> {
    const ok = outcome.kind === 'answered';
    const isAlive = ok || outcome.contact === 'answered';
    const values = [
      listingId,
      urlDigest,
      ok,
      isAlive,
      outcome.statusCode,
      outcome.latencyMs,
      this.config.probeIntervalMs,
      this.config.idleProbeIntervalMs,
    ];
    await this.database.transaction(async (tx) =>
      this.publishIfChanged(tx, await tx.query<HealthRow>(recordTest, values), context),
    );
  }

  /** Returns endpoints whose test is due, and reserves them for this process. */
  takeDue(most: number): Promise<{ listingId: string; sellerId: string }[]> {
    return this.database.query(takeDue, [most, this.config.probeIntervalMs]);
  }

  private async publishIfChanged(tx: Tx, [row]: HealthRow[], context: RequestContext): Promise<void> {
    if (row?.changed) await this.endpoints.publishChange(tx, row, true, context);
  }
}
