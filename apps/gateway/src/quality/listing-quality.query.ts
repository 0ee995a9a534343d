import type { InputOf, OutputOf } from '@market/contracts';
import { getCallsOverview, getListingQuality } from '@market/contracts/gateway';
import { HandleRequest, operatorOf, type RequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { COUNTED_FAILURES, MARKETPLACE } from './call-evidence.js';
import { successRate } from './success-rate.js';

const byDay = sql(
  'call-evidence.by-day',
  `WITH evidence AS (SELECT * FROM call_evidence WHERE listing_id = $1 AND day > current_date - $2::int),
   days AS (
     SELECT day, coalesce(sum(delivered) FILTER (WHERE buyer_id <> '${MARKETPLACE}'), 0)::int AS calls,
       sum(cardinality(latencies_ms))::int AS successes, (${COUNTED_FAILURES})::int AS failures
     FROM evidence GROUP BY day
   ), latencies AS (
     SELECT day, percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY ms) AS of FROM evidence, unnest(latencies_ms) AS ms GROUP BY day
   )
   SELECT day::text, calls, successes, failures, round(of[1])::int AS p50_ms, round(of[2])::int AS p95_ms
   FROM days LEFT JOIN latencies USING (day) ORDER BY day`,
);

const ofAll = sql(
  'call-evidence.of-all-by-day',
  `SELECT to_char(days.day, 'YYYY-MM-DD') AS day, coalesce(sum(delivered), 0)::int AS delivered,
     coalesce(sum(cardinality(failed_calls)), 0)::int AS failed
   FROM generate_series(current_date - 13, current_date, interval '1 day') AS days (day)
   LEFT JOIN call_evidence e ON e.day = days.day::date AND e.buyer_id <> '${MARKETPLACE}' GROUP BY days.day ORDER BY days.day`,
);

interface DayRow {
  day: string;
  calls: number;
  successes: number;
  failures: number;
  p50_ms: number | null;
  p95_ms: number | null;
}

/** Returns the quality of one listing by day. */
@Injectable()
export class ListingQualityQuery {
  constructor(private readonly database: Database) {}

  @HandleRequest(getListingQuality)
  async byDay({ listingId, days }: InputOf<typeof getListingQuality>): Promise<OutputOf<typeof getListingQuality>> {
    const rows = await this.database.query<DayRow>(byDay, [listingId, days]);
    return {
      days: rows.map(({ successes, failures, ...day }) => ({
        ...day,
        success_rate: successRate({ successes, failures }),
      })),
    };
  }

  @HandleRequest(getCallsOverview)
  async ofAll(
    _input: InputOf<typeof getCallsOverview>,
    context: RequestContext,
  ): Promise<OutputOf<typeof getCallsOverview>> {
    operatorOf(context);
    return { days: await this.database.query(ofAll) };
  }
}
