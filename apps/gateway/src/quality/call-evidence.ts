import { Database, sql, withParameters, type Tx } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { gatewayConfig, type GatewayConfig } from '../config.js';
import type { SellerOutcome } from '../egress/seller-outcome.js';

/** How many calls of a listing by one buyer count in a day: the latest deliveries, and the first failures. */
const COUNTED_OF_BUYER = 20;

/** The buyer id under which the marketplace's own tests are counted. */
export const MARKETPLACE = '00000000-0000-0000-0000-000000000000';

/** SQL, of the evidence of one listing and day: the failures that count, those that two buyers had or the marketplace's own test. No buyer makes them alone. */
export const COUNTED_FAILURES = `CASE WHEN count(*) FILTER (WHERE failed_calls <> '{}') >= 2 OR bool_or(buyer_id = '${MARKETPLACE}' AND failed_calls <> '{}')
         THEN sum(cardinality(failed_calls)) ELSE 0 END`;

interface Evidence {
  listingId: string;
  buyerId: string;
  callId: string;
  /** Null where the seller failed. */
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
         failed_calls = ARRAY(SELECT failed FROM unnest(known.failed_calls || excluded.failed_calls) WITH ORDINALITY AS calls (failed, place)
           GROUP BY failed ORDER BY min(place) LIMIT ${COUNTED_OF_BUYER}),
         latencies_ms = (known.latencies_ms || excluded.latencies_ms)[greatest(1, cardinality(known.latencies_ms || excluded.latencies_ms) - ${COUNTED_OF_BUYER - 1}):]`,
  ),
);
/** A listing is measured at once where it was not lately, and otherwise when its interval is over. */
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
 * What paid calls and the marketplace's own tests say of listings, a row for each listing, day and buyer. It is written where events
 * are consumed and tests end, so that a paid call waits for none of it; and it is bounded, so that no buyer counts for many.
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

  /** A test by the marketplace. Tests of the owner are not counted, because the owner decides how many there are. Refusals are not counted, as with calls. */
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
