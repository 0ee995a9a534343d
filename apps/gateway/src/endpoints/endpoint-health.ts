import type { RequestContext } from '@market/messaging';
import { Database, sql, type Tx } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { gatewayConfig, type GatewayConfig } from '../config.js';
import type { SellerFailed, SellerOutcome } from '../egress/seller-outcome.js';
import type { CallableEndpoint } from './callable-endpoints.js';
import { endpointColumns, type EndpointRow } from './endpoint.js';
import { EndpointsRepository } from './endpoints.repository.js';

/** A URL that was called. Its outcome does not count for another URL that the listing has by now. */
export type CalledEndpoint = Pick<CallableEndpoint['endpoint'], 'listingId' | 'urlDigest'>;

/** One call that a seller failed. */
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
       CASE WHEN $3 = ANY(failed_calls) OR cardinality(failed_calls) >= ${MAX_FAILED_CALLS} THEN failed_calls ELSE failed_calls || $3::uuid END AS calls,
       CASE WHEN $4 = ANY(failed_buyers) OR cardinality(failed_buyers) >= 2 THEN failed_buyers ELSE failed_buyers || $4::uuid END AS buyers
     FROM endpoints WHERE listing_id = $1 AND url_digest = $2 FOR UPDATE
   ), evaluated AS (
     SELECT *, health <> 'failing' AND cardinality(calls) >= $6 AND cardinality(buyers) >= 2 AS breaks, health <> 'failing' AND (NOT $5 OR cardinality(calls) >= $6) AS is_doubted FROM counted
   )
   UPDATE endpoints e SET failed_calls = j.calls, failed_buyers = j.buyers,
     health = CASE WHEN j.breaks THEN 'failing' ELSE j.health END,
     probe_at = CASE WHEN j.breaks THEN now() + $7 * interval '1 millisecond' WHEN j.is_doubted THEN least(e.probe_at, now()) ELSE e.probe_at END,
     version = e.version + j.breaks::int,
     updated_at = CASE WHEN j.breaks THEN now() ELSE e.updated_at END
   FROM evaluated j WHERE e.listing_id = j.listing_id
   RETURNING ${endpointColumns('e')}, j.breaks AS changed`,
);
/** Failures that were counted after this success belong to later calls, and are kept. */
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
/** Until its test has ended no other process takes it; should this one die meanwhile, another does later. */
const takeDue = sql(
  'endpoints.take-due',
  `UPDATE endpoints SET probe_at = now() + (timeout_ms + $2) * interval '1 millisecond'
   WHERE listing_id IN (SELECT listing_id FROM endpoints WHERE probe_at <= now() AND NOT paused ORDER BY probe_at LIMIT $1 FOR UPDATE SKIP LOCKED)
   RETURNING listing_id AS "listingId", seller_id AS "sellerId"`,
);

type HealthRow = EndpointRow & { changed: boolean };

/**
 * A breaker per endpoint, decided in its row by evidence that no single buyer can make. The endpoint becomes `failing`, and nothing
 * more is sold or forwarded, when `GATEWAY_FAILING_AFTER` calls of at least two buyers failed since the last success, each counted
 * once however often it is repeated, or when the marketplace's own test fails. That test is due at once when a call did not reach
 * the seller or one buyer's calls alone are that many, some time after an URL is set, and every `GATEWAY_PROBE_INTERVAL_MS`
 * while it is failing, and every `GATEWAY_IDLE_PROBE_INTERVAL_MS` while it works. A test that is answered, or a call that is still under way and billable, makes it `active` again. A billable
 * answer resets the failures (in the statement that stores it, see `CallRecords`). Pausing changes none of this.
 */
@Injectable()
export class EndpointHealth {
  constructor(
    private readonly database: Database,
    private readonly endpoints: EndpointsRepository,
    @Inject(gatewayConfig.token) private readonly config: GatewayConfig,
  ) {}

  /** A call was not billable; counted with what is written down of it. */
  async failed(
    tx: Tx,
    { listingId, urlDigest }: CalledEndpoint,
    { id, buyerId, contact }: FailedCall,
    context: RequestContext,
  ): Promise<void> {
    const { failingAfter, probeIntervalMs } = this.config;
    await this.tell(
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

  /** A call was billable, and the endpoint not `active`. One statement in a transaction of its own. */
  async recovered({ listingId, urlDigest }: CalledEndpoint, context: RequestContext): Promise<void> {
    await this.database.transaction(async (tx) =>
      this.tell(
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

  /** What came of a test, unless the URL changed meanwhile. Whatever a seller answers below 500 shows that it is there; only a 2xx answer verifies a new one. */
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
      this.tell(tx, await tx.query<HealthRow>(recordTest, values), context),
    );
  }

  /** Endpoints whose test is due, for this process to make. */
  takeDue(most: number): Promise<{ listingId: string; sellerId: string }[]> {
    return this.database.query(takeDue, [most, this.config.probeIntervalMs]);
  }

  private async tell(tx: Tx, [row]: HealthRow[], context: RequestContext): Promise<void> {
    if (row?.changed) await this.endpoints.publishChange(tx, row, true, context);
  }
}
