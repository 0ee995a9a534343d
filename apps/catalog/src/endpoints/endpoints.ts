import type { InputOf, OutputOf } from '@market/contracts';
import { listingRemoved } from '@market/contracts/catalog';
import { provisionEndpoint, type endpointChanged } from '@market/contracts/gateway';
import { MessageBus, type RequestContext, type ReceivedEvent } from '@market/messaging';
import { Database, Outbox, sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { IS_CALLED } from '../listings/pricing.js';

// Version 0 is older than every version that the gateway sends.
const keepFirst = sql(
  'endpoints.keep-first',
  `INSERT INTO endpoints (listing_id, version, status, limits) VALUES ($1, 0, $2, $3) ON CONFLICT DO NOTHING`,
);
const project = sql(
  'endpoints.project',
  `INSERT INTO endpoints AS known (listing_id, version, status, limits, failing_since)
   SELECT DISTINCT ON (listing_id) listing_id, version, status, limits, CASE WHEN status = 'failing' THEN changed_at END
   FROM unnest($1::uuid[], $2::int[], $3::text[], $4::jsonb[], $5::timestamptz[])
     AS updates (listing_id, version, status, limits, changed_at)
   ORDER BY listing_id, version DESC
   ON CONFLICT (listing_id) DO UPDATE SET
     version = excluded.version, status = excluded.status, limits = excluded.limits,
     failing_since = CASE WHEN excluded.status = 'failing' THEN coalesce(known.failing_since, excluded.failing_since) END
   WHERE known.version < excluded.version
   RETURNING listing_id, status`,
);
const failing = sql(
  'endpoints.failing',
  `SELECT endpoint.listing_id FROM endpoints endpoint JOIN listings l ON l.id = endpoint.listing_id
   WHERE endpoint.failing_since < now() - make_interval(secs => $1) AND l.status = 'active' AND ${IS_CALLED}
   ORDER BY endpoint.failing_since LIMIT 100`,
);
const isFailing = sql(
  'endpoints.is-failing',
  'SELECT 1 FROM endpoints WHERE listing_id = $1 AND failing_since < now() - make_interval(secs => $2)',
);
const forget = sql('endpoints.forget', 'DELETE FROM endpoints WHERE listing_id = $1');

export type ProvisionedEndpoint = OutputOf<typeof provisionEndpoint>;

/** Provisions private endpoints, which the gateway owns, and stores the part of them that listings show. */
@Injectable()
export class Endpoints {
  constructor(
    private readonly database: Database,
    private readonly bus: MessageBus,
    private readonly outbox: Outbox,
  ) {}

  /**
   * Provisions an endpoint. Repeating it for a listing only replaces the URL.
   * @throws Refusal `endpoint_url_refused`.
   */
  provision(endpoint: InputOf<typeof provisionEndpoint>, context: RequestContext): Promise<ProvisionedEndpoint> {
    return this.bus.request(provisionEndpoint, endpoint, context);
  }

  /** Makes the gateway delete the endpoint of a listing that was not created. */
  async abandon(listingId: string, context: RequestContext): Promise<void> {
    await this.database.transaction(async (tx) =>
      this.outbox.add(tx, listingRemoved, { listingId, removedAt: new Date().toISOString() }, context),
    );
  }

  async keep(tx: Tx, listingId: string, { status, limits }: ProvisionedEndpoint): Promise<void> {
    await tx.query(keepFirst, [listingId, status, JSON.stringify(limits)]);
  }

  /** Stores the newest version of each endpoint. @returns the listings whose endpoint is now active. */
  async project(tx: Tx, events: ReceivedEvent<typeof endpointChanged>[]): Promise<string[]> {
    const updates = events.map((event) => event.payload);
    const changed = await tx.query<{ listing_id: string; status: string }>(project, [
      updates.map((endpoint) => endpoint.listingId),
      updates.map((endpoint) => endpoint.version),
      updates.map((endpoint) => endpoint.status),
      updates.map((endpoint) => JSON.stringify(endpoint.limits)),
      updates.map((endpoint) => endpoint.changedAt),
    ]);
    return changed.filter(({ status }) => status === 'active').map((row) => row.listing_id);
  }

  /** Returns up to 100 active listings whose endpoint has been failing for longer than `seconds`. */
  async failingFor(seconds: number): Promise<string[]> {
    return (await this.database.query<{ listing_id: string }>(failing, [seconds])).map((row) => row.listing_id);
  }

  /** The answer stays true while the listing is locked. */
  async isFailing(tx: Tx, listingId: string, seconds: number): Promise<boolean> {
    return (await tx.query(isFailing, [listingId, seconds])).length > 0;
  }

  async forget(tx: Tx, listingId: string): Promise<void> {
    await tx.query(forget, [listingId]);
  }
}
