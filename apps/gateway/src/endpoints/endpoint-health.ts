import { endpointChanged, endpointTouched } from '@market/contracts/gateway';
import { MessageBus, type Call } from '@market/messaging';
import { Database, Outbox, sql, type Tx } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { gatewayConfig, type GatewayConfig } from '../config.js';
import type { CallableEndpoint } from './callable-endpoints.js';
import type { EndpointStatus } from './endpoint.entity.js';

/** An URL that was called; what came of it says nothing about another one that the listing has by now. */
export type CalledEndpoint = Pick<CallableEndpoint['endpoint'], 'listingId' | 'urlDigest'>;

/** Whether a paid call may try an endpoint now, or when to ask again. */
export type Probe = { granted: true } | { granted: false; retryAfterSeconds: number };

const columns = 'e.listing_id, e.version, e.status, e.max_request_bytes, e.max_response_bytes, e.max_concurrency, e.requests_per_minute, e.updated_at';

const countFailure = sql(
  'endpoints.count-failure',
  `WITH was AS (SELECT listing_id, status IN ('active', 'unverified') AND consecutive_failures + 1 >= $3 AS breaks FROM endpoints WHERE listing_id = $1 AND url_digest = $2 FOR UPDATE)
   UPDATE endpoints e SET consecutive_failures = e.consecutive_failures + 1,
     status = CASE WHEN was.breaks THEN 'failing' ELSE e.status END,
     probe_at = CASE WHEN was.breaks OR e.status = 'failing' THEN now() + $4 * interval '1 millisecond' ELSE e.probe_at END,
     version = e.version + was.breaks::int,
     updated_at = CASE WHEN was.breaks THEN now() ELSE e.updated_at END
   FROM was WHERE e.listing_id = was.listing_id
   RETURNING ${columns}, was.breaks AS changed`,
);
/** Failures counted since the success that is told of here are of later calls, and stay. */
const recover = sql(
  'endpoints.recover',
  `UPDATE endpoints e SET status = 'active', verified_at = now(), probe_at = NULL, version = e.version + 1, updated_at = now()
   WHERE e.listing_id = $1 AND e.url_digest = $2 AND e.status IN ('unverified', 'failing') AND e.consecutive_failures < $3
   RETURNING ${columns}, true AS changed`,
);
const recordTest = sql(
  'endpoints.record-test',
  `WITH was AS (SELECT listing_id, $3 AND status IN ('unverified', 'failing') AS heals FROM endpoints WHERE listing_id = $1 AND url_digest = $2 FOR UPDATE)
   UPDATE endpoints e SET last_test_at = now(), last_test_ok = $3, last_test_status_code = $4, last_test_latency_ms = $5,
     consecutive_failures = CASE WHEN $3 THEN 0 ELSE e.consecutive_failures END,
     status = CASE WHEN was.heals THEN 'active' ELSE e.status END,
     verified_at = CASE WHEN $3 THEN now() ELSE e.verified_at END,
     probe_at = CASE WHEN $3 THEN NULL ELSE e.probe_at END,
     version = e.version + was.heals::int,
     updated_at = CASE WHEN was.heals THEN now() ELSE e.updated_at END
   FROM was WHERE e.listing_id = was.listing_id
   RETURNING ${columns}, was.heals AS changed`,
);
const probe = sql(
  'endpoints.probe',
  `WITH granted AS (
     UPDATE endpoints SET probe_at = now() + $2 * interval '1 millisecond' WHERE listing_id = $1 AND status = 'failing' AND probe_at <= now() RETURNING listing_id
   )
   SELECT EXISTS (SELECT 1 FROM granted) OR e.status <> 'failing' AS granted, greatest(1, ceil(extract(epoch FROM e.probe_at - now())))::int AS retry_after_seconds
   FROM endpoints e WHERE e.listing_id = $1`,
);

interface HealthRow {
  listing_id: string;
  version: number;
  status: EndpointStatus;
  max_request_bytes: number;
  max_response_bytes: number;
  max_concurrency: number;
  requests_per_minute: number | null;
  updated_at: Date;
  changed: boolean;
}

/**
 * A breaker per endpoint, decided in its row. Calls in a row that the seller failed are counted; a billable answer sets the
 * count to 0 (in the statement that stores it, see `CallRecords`). At `GATEWAY_FAILING_AFTER` the endpoint is `failing`:
 * nothing more is sold, and of the calls that are paid already one may try it every `GATEWAY_PROBE_INTERVAL_MS`. The
 * first success, or a passing endpoint test, makes it `active` again, as it does one that was never tried. Pausing leaves
 * all of this as it is.
 */
@Injectable()
export class EndpointHealth {
  constructor(
    private readonly database: Database,
    private readonly outbox: Outbox,
    private readonly bus: MessageBus,
    @Inject(gatewayConfig.token) private readonly config: GatewayConfig,
  ) {}

  /** A call was not billable; counted with what is written down of it. */
  async failed(tx: Tx, { listingId, urlDigest }: CalledEndpoint, call: Call): Promise<void> {
    const { failingAfter, probeIntervalMs } = this.config;
    await this.tell(tx, await tx.query<HealthRow>(countFailure, [listingId, urlDigest, failingAfter, probeIntervalMs]), call);
  }

  /** A call was billable, and the endpoint not `active`. One statement in a transaction of its own. */
  async recovered({ listingId, urlDigest }: CalledEndpoint, call: Call): Promise<void> {
    await this.database.transaction(async (tx) => this.tell(tx, await tx.query<HealthRow>(recover, [listingId, urlDigest, this.config.failingAfter]), call));
  }

  /** What came of an endpoint test, unless the URL changed meanwhile: what was tested is what the verdict is about. */
  async tested({ listingId, urlDigest }: CalledEndpoint, test: { ok: boolean; statusCode: number; latencyMs: number }, call: Call): Promise<void> {
    await this.database.transaction(async (tx) => this.tell(tx, await tx.query<HealthRow>(recordTest, [listingId, urlDigest, test.ok, test.statusCode, test.latencyMs]), call));
  }

  /** Grants one call of a failing endpoint an interval, over all processes; and any call, once it fails no longer. */
  async probe(listingId: string): Promise<Probe> {
    const [row] = await this.database.query<{ granted: boolean; retry_after_seconds: number | null }>(probe, [listingId, this.config.probeIntervalMs]);
    return row?.granted ? { granted: true } : { granted: false, retryAfterSeconds: row?.retry_after_seconds ?? 1 };
  }

  private async tell(tx: Tx, [row]: HealthRow[], call: Call): Promise<void> {
    if (!row?.changed) return;
    const limits = { max_request_bytes: row.max_request_bytes, max_response_bytes: row.max_response_bytes, max_concurrency: row.max_concurrency, requests_per_minute: row.requests_per_minute };
    await this.outbox.add(tx, endpointChanged, { listingId: row.listing_id, version: row.version, status: row.status, limits, changedAt: row.updated_at.toISOString() }, call);
    tx.afterCommit(() => this.bus.signal(endpointTouched, { listingId: row.listing_id }));
  }
}
