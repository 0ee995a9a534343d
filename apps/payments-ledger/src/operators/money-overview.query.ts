import type { InputOf, OutputOf } from '@market/contracts';
import { getMoneyOverview } from '@market/contracts/payments-ledger';
import { HandleRequest, operatorOf, type RequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { lookupCache } from '@market/runtime';
import { Injectable, Inject } from '@nestjs/common';
import { PAYMENT_RAILS, type PaymentRail } from '../rails/payment-rail.js';
import { usdText } from './find-payments.query.js';

const DAYS = 14;
/**
 * The sums of a day read all of its sales, so they are computed at most once in this time, for all readers together.
 */
const CACHE_MS = 5_000;

/**
 * Payment ids begin with the time of creation. A sale is completed at most one retry window (seven days at most) after
 * that.
 */
const byDay = sql(
  'operators.sales-by-day',
  `SELECT to_char(day, 'YYYY-MM-DD') AS day, count(p.id)::int AS payments,
     coalesce(sum(p.gross_micros), 0)::text AS volume, coalesce(sum(p.fee_micros), 0)::text AS revenue
   FROM generate_series(
     date_trunc('day', now() AT TIME ZONE 'UTC') - interval '${DAYS - 1} days', now() AT TIME ZONE 'UTC', interval '1 day') AS days (day)
   LEFT JOIN payments p ON p.state = 'completed' AND p.purpose IN ('call', 'subscription')
     AND date_trunc('day', p.completed_at AT TIME ZONE 'UTC') = day
     AND p.id >= (lpad(to_hex((extract(epoch FROM now() - interval '${DAYS + 8} days') * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
   GROUP BY day ORDER BY day`,
);
const balances = sql(
  'operators.balances',
  `SELECT coalesce(sum(balance_micros), 0)::text AS unexplained,
     coalesce(sum(balance_micros) FILTER (WHERE address LIKE 'agent:%:refunds'), 0)::text AS refunds,
     coalesce(-sum(balance_micros) FILTER (WHERE address LIKE 'agent:%:fees'), 0)::text AS fees,
     coalesce(sum(balance_micros) FILTER (WHERE address LIKE 'agent:%:earnings:%'), 0)::text AS payable
   FROM balances`,
);
/** Few payments are open or owed back, and each of these states has an index. */
const byRail = sql(
  'operators.payments-by-rail',
  `SELECT p.rail AS id, count(*) FILTER (WHERE p.state <> 'refund_due')::int AS open,
     count(*) FILTER (WHERE p.state = 'refund_due')::int AS refunds_due,
     count(*) FILTER (WHERE now() > interval '10 minutes' + CASE p.state
       WHEN 'verified' THEN p.retry_until
       WHEN 'indeterminate' THEN coalesce(a.valid_before, '-infinity') + interval '1 hour'
       WHEN 'pending' THEN p.expires_at WHEN 'underpaid' THEN p.expires_at END)::int AS overdue,
     count(a.id)::int AS settling, extract(epoch FROM now() - min(a.created_at))::float8 AS oldest_settlement_seconds
   FROM payments p LEFT JOIN authorizations a ON a.id = p.authorization_id AND a.state = 'settling'
   WHERE p.state IN ('pending', 'underpaid', 'verified', 'indeterminate', 'refund_due') AND p.purpose <> 'included' GROUP BY p.rail`,
);

type Overview = OutputOf<typeof getMoneyOverview>;

@Injectable()
export class MoneyOverview {
  private readonly cached = lookupCache<Overview>(CACHE_MS, () => this.read());

  constructor(
    private readonly database: Database,
    @Inject(PAYMENT_RAILS) private readonly rails: PaymentRail[],
  ) {}

  @HandleRequest(getMoneyOverview)
  get(_input: InputOf<typeof getMoneyOverview>, context: RequestContext): Promise<Overview> {
    operatorOf(context);
    return this.cached.forceFetch('overview');
  }

  private async read(): Promise<Overview> {
    const [days, [sums], rails] = await Promise.all([
      this.database.query<{ day: string; payments: number; volume: string; revenue: string }>(byDay),
      this.database.query<Record<'unexplained' | 'refunds' | 'fees' | 'payable', string>>(balances),
      this.database.query<Overview['rails'][number]>(byRail),
    ]);
    const found = new Map(rails.map((rail) => [rail.id, rail]));
    const configured = this.rails.filter(({ id }) => !found.has(id)).map(({ id }) => ({ id, ...NOTHING_OPEN }));
    return {
      days: days.map(({ day, payments, volume, revenue }) => ({
        day,
        payments,
        volume_usd: usdText(volume),
        revenue_usd: usdText(revenue),
      })),
      refunds_due: {
        payments: rails.reduce((sum, { refunds_due }) => sum + refunds_due, 0),
        amount_usd: usdText(sums!.refunds),
      },
      fees_due_usd: usdText(sums!.fees),
      payable_usd: usdText(sums!.payable),
      unexplained_usd: usdText(sums!.unexplained),
      rails: [...rails, ...configured].sort((a, b) => (a.id < b.id ? -1 : 1)),
    };
  }
}

const NOTHING_OPEN = { open: 0, overdue: 0, refunds_due: 0, settling: 0, oldest_settlement_seconds: null };
