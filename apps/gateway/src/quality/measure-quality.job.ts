import { listingQualityMeasured, type MeasuredQuality } from '@market/contracts/gateway';
import { newRequestContext } from '@market/messaging';
import { Database, Outbox, sql, withParameters } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { gatewayConfig, type GatewayConfig } from '../config.js';
import { BUYERS_FAILURES, COUNTED_FAILURES, MARKETPLACE } from './call-evidence.js';
import { successRate, successLowerBound } from './success-rate.js';

const POLL_INTERVAL_MS = 1_000;
const BATCH_SIZE = 50;
const DAYS_KEPT = 30;

const takeDue = sql(
  'listing-quality.take-due',
  `SELECT listing_id, version, last_success_at, measured FROM listing_quality
   WHERE due_at <= now() ORDER BY due_at LIMIT ${BATCH_SIZE} FOR UPDATE SKIP LOCKED`,
);
const deleteOld = sql(
  'call-evidence.delete-old',
  `DELETE FROM call_evidence WHERE listing_id = ANY($1::uuid[]) AND day <= current_date - ${DAYS_KEPT}`,
);
const measure = sql(
  'call-evidence.measure',
  `WITH evidence AS (
     SELECT *, day > current_date - 7 AS of_week FROM call_evidence WHERE listing_id = ANY($1::uuid[])
   ), days AS (
     SELECT listing_id, of_week, sum(delivered) FILTER (WHERE buyer_id <> '${MARKETPLACE}') AS calls,
       sum(cardinality(latencies_ms)) AS successes,
       ${COUNTED_FAILURES} AS failures,
       sum(cardinality(latencies_ms)) FILTER (WHERE buyer_id <> '${MARKETPLACE}') AS buyers_successes,
       ${BUYERS_FAILURES} AS buyers_failures
     FROM evidence GROUP BY listing_id, day, of_week
   ), sums AS (
     SELECT listing_id, sum(calls) AS calls_30d, sum(successes) AS successes_30d, sum(failures) AS failures_30d,
       sum(buyers_successes) AS buyers_successes_30d, sum(buyers_failures) AS buyers_failures_30d,
       sum(calls) FILTER (WHERE of_week) AS calls_7d, sum(successes) FILTER (WHERE of_week) AS successes_7d,
       sum(failures) FILTER (WHERE of_week) AS failures_7d
     FROM days GROUP BY listing_id
   ), buyers AS (
     SELECT listing_id, count(DISTINCT buyer_id) AS buyers_30d FROM evidence
     WHERE delivered > 0 AND buyer_id <> '${MARKETPLACE}' GROUP BY listing_id
   ), latencies AS (
     SELECT listing_id, percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY ms) AS month,
       percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY ms) FILTER (WHERE of_week) AS week
     FROM evidence, unnest(latencies_ms) AS ms GROUP BY listing_id
   )
   SELECT listing_id, coalesce(calls_7d, 0)::int AS calls_7d, coalesce(calls_30d, 0)::int AS calls_30d,
     coalesce(successes_7d, 0)::int AS successes_7d, coalesce(failures_7d, 0)::int AS failures_7d, successes_30d::int, failures_30d::int,
     coalesce(buyers_successes_30d, 0)::int AS buyers_successes_30d, coalesce(buyers_failures_30d, 0)::int AS buyers_failures_30d,
     coalesce(buyers_30d, 0)::int AS buyers_30d,
     round(week[1])::int AS p50_ms_7d, round(week[2])::int AS p95_ms_7d,
     round(month[1])::int AS p50_ms_30d, round(month[2])::int AS p95_ms_30d
   FROM sums LEFT JOIN latencies USING (listing_id) LEFT JOIN buyers USING (listing_id)`,
);
/**
 * A listing is measured again a day later, because days leave the window. If no day is left, it is measured when there
 * is new evidence.
 */
const keep = withParameters(
  { measured: 'listing_id uuid, version int, measured json, is_known bool' },
  ({ measured }) =>
    sql(
      'listing-quality.keep',
      `UPDATE listing_quality q SET version = measured.version, measured = measured.measured, measured_at = now(),
         due_at = CASE WHEN measured.is_known THEN now() + interval '1 day' END
       FROM ${measured.table} WHERE q.listing_id = measured.listing_id`,
    ),
);

interface DueRow {
  listing_id: string;
  version: number;
  last_success_at: Date | null;
  measured: MeasuredQuality | null;
}

type Latencies = Pick<MeasuredQuality, 'p50_ms_7d' | 'p95_ms_7d' | 'p50_ms_30d' | 'p95_ms_30d'>;
interface SumsRow extends Latencies {
  listing_id: string;
  calls_7d: number;
  calls_30d: number;
  successes_7d: number;
  failures_7d: number;
  successes_30d: number;
  failures_30d: number;
  buyers_30d: number;
  buyers_successes_30d: number;
  buyers_failures_30d: number;
}

const NOTHING: Omit<SumsRow, 'listing_id'> = {
  calls_7d: 0,
  calls_30d: 0,
  successes_7d: 0,
  failures_7d: 0,
  successes_30d: 0,
  failures_30d: 0,
  buyers_30d: 0,
  buyers_successes_30d: 0,
  buyers_failures_30d: 0,
  p50_ms_7d: null,
  p95_ms_7d: null,
  p50_ms_30d: null,
  p95_ms_30d: null,
};

/** Measures listings with new evidence (see `CallEvidence`), each in one process, and publishes changes. */
@Injectable()
export class MeasureQuality implements OnApplicationBootstrap {
  constructor(
    private readonly database: Database,
    private readonly outbox: Outbox,
    private readonly jobs: Jobs,
    @Inject(gatewayConfig.token) private readonly config: GatewayConfig,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.every('measure-quality', Math.min(POLL_INTERVAL_MS, this.config.qualityIntervalMs), () => this.run());
  }

  private async run(): Promise<void> {
    let measured: number;
    do measured = await this.measureSome();
    while (measured === BATCH_SIZE);
  }

  private measureSome(): Promise<number> {
    return this.database.transaction(async (tx) => {
      const due = await tx.query<DueRow>(takeDue);
      if (due.length === 0) return 0;
      const listingIds = due.map(({ listing_id }) => listing_id);
      await tx.query(deleteOld, [listingIds]);
      const sums = new Map(
        (await tx.query<SumsRow>(measure, [listingIds])).map(({ listing_id, ...row }) => [listing_id, row]),
      );
      const measured = due.map((row) => {
        const found = sums.get(row.listing_id);
        const quality = qualityOf(row.last_success_at, found ?? NOTHING);
        const isNews = JSON.stringify(quality) !== JSON.stringify(row.measured);
        return { ...row, found: found ?? NOTHING, quality, isNews, isKnown: found !== undefined };
      });
      const measuredAt = new Date().toISOString();
      await this.outbox.addAll(
        tx,
        measured
          .filter(({ isNews }) => isNews)
          .map(({ listing_id, version, quality, found }) => ({
            contract: listingQualityMeasured,
            payload: {
              listingId: listing_id,
              version: version + 1,
              quality,
              successLowerBound: successLowerBound({ successes: found.successes_30d, failures: found.failures_30d }),
              measuredAt,
            },
            context: newRequestContext(),
          })),
      );
      const rows = measured.map(({ listing_id, version, quality, isNews, isKnown }) => ({
        listing_id,
        version: version + Number(isNews),
        measured: JSON.stringify(quality),
        is_known: isKnown,
      }));
      await tx.query(keep, keep.values({ measured: rows }));
      return due.length;
    });
  }
}

const qualityOf = (
  lastSuccessAt: Date | null,
  {
    p50_ms_7d,
    p95_ms_7d,
    p50_ms_30d,
    p95_ms_30d,
    calls_7d,
    calls_30d,
    buyers_30d,
    ...sums
  }: Omit<SumsRow, 'listing_id'>,
): MeasuredQuality => ({
  last_success_at: lastSuccessAt?.toISOString() ?? null,
  success_rate_7d: successRate({ successes: sums.successes_7d, failures: sums.failures_7d }),
  success_rate_30d: successRate({ successes: sums.successes_30d, failures: sums.failures_30d }),
  p50_ms_7d,
  p95_ms_7d,
  p50_ms_30d,
  p95_ms_30d,
  calls_7d,
  calls_30d,
  buyers_30d,
  buyers_success_rate_30d: successRate({ successes: sums.buyers_successes_30d, failures: sums.buyers_failures_30d }),
});
