import { Database, sql, withParameters, type Tx } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { gatewayConfig, type GatewayConfig } from '../config.js';
import type { SellerOutcome } from '../egress/seller-outcome.js';

/** The number of one buyer's calls of a listing that count per day: the latest deliveries, and the first failures. */
const COUNTED_OF_BUYER = 20;

/** The buyer id under which the marketplace's own tests are counted. */
export const MARKETPLACE = '00000000-0000-0000-0000-000000000000';

/**
 * SQL for the counted failures in the evidence of one listing and day. They count only if two buyers had failures or
 * the marketplace's own test failed, so that no buyer can cause them alone.
 */
const failuresWhere = (counted: string): string => `CASE WHEN count(*) FILTER (WHERE failed_calls <> '{}') >= 2
           OR bool_or(buyer_id = '${MARKETPLACE}' AND failed_calls <> '{}')
         THEN sum(cardinality(failed_calls)) ${counted} ELSE 0 END`;
export const COUNTED_FAILURES = failuresWhere('');
/** Those of buyers alone. */
export const BUYERS_FAILURES = failuresWhere(`FILTER (WHERE buyer_id <> '${MARKETPLACE}')`);

interface Evidence {
  listingId: string;
  buyerId: string;
  callId: string;
  /** Null if the seller failed. */
  latencyMs: number | null;
}

const add = withParameters({ added: 'listing_id uuid, buyer_id uuid, call_id uuid, latency_ms int' }, ({ added }) =>
  sql(
    'call-evidence.add',
    `INSERT INTO call_evidence AS known (listing_id, day, buyer_id, delivered, failed_calls, latencies_ms)
       SELECT listing_id, current_date, buyer_id, count(latency_ms),
         coalesce((array_agg(DISTINCT call_id) FILTER (WHERE latency_ms IS NULL))[:${COUNTED_OF_BUYER}], '{}'),
         coalesce((array_agg(latency_ms) FILTER (WHERE latency_ms IS NOT NULL))[:${COUNTED_OF_BUYER}], '{}')
       FROM ${added.table} GROUP BY listing_id, buyer_id ORDER BY listing_id, buyer_id
       ON CONFLICT (listing_id, day, buyer_id) DO UPDATE SET
         delivered = known.delivered + excluded.delivered,
         failed_calls = ARRAY(
           SELECT failed FROM unnest(known.failed_calls || excluded.failed_calls) WITH ORDINALITY AS calls (failed, place)
           GROUP BY failed ORDER BY min(place) LIMIT ${COUNTED_OF_BUYER}),
         latencies_ms = (known.latencies_ms || excluded.latencies_ms)[
           greatest(1, cardinality(known.latencies_ms || excluded.latencies_ms) - ${COUNTED_OF_BUYER - 1}):]`,
  ),
);
/** Schedules a measurement: immediately, or when the interval since the last one has passed. */
const schedule = withParameters(
  { added: 'listing_id uuid, latency_ms int', interval_ms: 'int' },
  ({ added, interval_ms }) =>
    sql(
      'listing-quality.schedule',
      `INSERT INTO listing_quality AS known (listing_id, last_success_at, due_at)
     SELECT listing_id, CASE WHEN count(latency_ms) > 0 THEN now() END, now() FROM ${added.table} GROUP BY listing_id ORDER BY listing_id
     ON CONFLICT (listing_id) DO UPDATE SET
       last_success_at = coalesce(excluded.last_success_at, known.last_success_at),
       due_at = least(known.due_at, greatest(now(), known.measured_at + ${interval_ms} * interval '1 millisecond'))`,
    ),
);
const deleteEvidence = sql('call-evidence.delete', 'DELETE FROM call_evidence WHERE listing_id = ANY($1::uuid[])');
const deleteQuality = sql(
  'listing-quality.delete-removed',
  'DELETE FROM listing_quality WHERE listing_id = ANY($1::uuid[])',
);

/**
 * Stores the evidence of paid calls and the marketplace's own tests, in one row per listing, day and buyer. It is
 * written when events are consumed and tests end, so that paid calls do not wait for it. A row is bounded, so that one
 * buyer has limited weight.
 */
@Injectable()
export class CallEvidence {
  constructor(
    private readonly database: Database,
    @Inject(gatewayConfig.token) private readonly config: GatewayConfig,
  ) {}

  async add(tx: Tx, added: Evidence[]): Promise<void> {
    if (added.length === 0) return;
    const rows = added.map(({ listingId, buyerId, callId, latencyMs }) => ({
      listing_id: listingId,
      buyer_id: buyerId,
      call_id: callId,
      latency_ms: latencyMs,
    }));
    await tx.query(add, add.values({ added: rows }));
    await tx.query(schedule, schedule.values({ added: rows, interval_ms: this.config.qualityIntervalMs }));
  }

  /**
   * Adds a test by the marketplace. Owners' tests are not counted, because an owner can run any number. As with calls,
   * refusals are not counted.
   */
  async addProbe(
    listingId: string,
    { requestId, outcome }: { requestId: string; outcome: SellerOutcome },
  ): Promise<void> {
    const delivered = outcome.kind === 'answered';
    if (!delivered && outcome.contact === 'answered') return;
    const evidence = {
      listingId,
      buyerId: MARKETPLACE,
      callId: requestId,
      latencyMs: delivered ? outcome.latencyMs : null,
    };
    await this.database.transaction((tx) => this.add(tx, [evidence]));
  }

  async forget(tx: Tx, listingIds: string[]): Promise<void> {
    await tx.query(deleteEvidence, [listingIds]);
    await tx.query(deleteQuality, [listingIds]);
  }
}
