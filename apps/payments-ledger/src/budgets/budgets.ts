import type { Budget, RefusalDetailsOf } from '@market/contracts';
import { budgetReached, createOffer } from '@market/contracts/payments-ledger';
import { usdNumber } from '@market/kernel';
import { principalOf, refuse, type RequestContext } from '@market/messaging';
import { Database, Outbox, sql, type OutgoingEvent, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import type { PaymentRow } from '../payments/payment.js';
import { lockSpending, readSpending, type SpendingRow } from './spending.js';

type Exceeded = RefusalDetailsOf<typeof createOffer, 'budget_exceeded'>;
type Priced = Pick<PaymentRow, 'id' | 'listing_id' | 'gross_micros'>;
type Reservable = Priced & Pick<PaymentRow, 'buyer_id' | 'budgets' | 'reserved_on'>;

/** Runs in the transaction that locked the spending, so that `now()` is the same day in both statements. */
const count = sql(
  'spending.count',
  `WITH reserved AS (
     UPDATE payments SET budgets = $2, reserved_on = now()::date WHERE id = $1 RETURNING gross_micros
   )
   UPDATE spending s SET spent_micros = s.spent_micros + r.gross_micros FROM reserved r
   WHERE s.budget_id = ANY($3::uuid[]) AND s.starts_on = date_trunc(s.period, now())::date`,
);

/**
 * Enforces the budgets of the key that makes a payment. A payment counts once, from the commit in which its money is
 * committed. The trigger `payments_release_spending` subtracts it when the payment ends without a charge. Without a
 * budget, nothing is read or stored.
 */
@Injectable()
export class Budgets {
  constructor(
    private readonly database: Database,
    private readonly outbox: Outbox,
  ) {}

  /** Checks before payment whether the budgets allow it now. Reserves nothing. @throws Refusal `budget_exceeded`. */
  async check(payment: Priced, context: RequestContext): Promise<void> {
    const { budgets, accountId } = principalOf(context);
    if (!budgets) return;
    const spending = await this.database.query<SpendingRow>(readSpending, [idsOf(budgets), accountId, payment.id]);
    assertWithin(budgets, payment, spending);
  }

  /**
   * Counts a payment, whose row is locked, against the budgets. If the request has no key, as when a call is finished
   * after its process died, the payment counts against the budgets under which it began. @throws Refusal
   * `budget_exceeded`.
   */
  async reserve(tx: Tx, payment: Reservable, context: RequestContext): Promise<void> {
    const budgets = principalOf(context).budgets ?? payment.budgets;
    if (!budgets || payment.reserved_on !== null) return;
    const ids = idsOf(budgets);
    const spending = await tx.query<SpendingRow>(lockSpending, [ids, payment.buyer_id, payment.id]);
    assertWithin(budgets, payment, spending);
    await tx.query(count, [payment.id, JSON.stringify(budgets), ids]);
    this.outbox.addAll(tx, reachedBy(payment, budgets, spending, context));
  }
}

/** Returns an event for each period in which this payment reaches the limit or crosses four fifths of it. */
function reachedBy(
  { buyer_id: accountId, gross_micros }: Reservable,
  budgets: Budget[],
  spending: SpendingRow[],
  context: RequestContext,
): OutgoingEvent<typeof budgetReached>[] {
  return spending.flatMap(({ budget_id: budgetId, period, resets_at, spent_micros }) => {
    const budget = budgets.find(({ id }) => id === budgetId)!;
    const limit = period === 'day' ? budget.perDayMicros : budget.perMonthMicros;
    if (limit === null) return [];
    const before = BigInt(spent_micros);
    const after = before + BigInt(gross_micros);
    const crosses = (micros: bigint): boolean => before * 5n < micros && after * 5n >= micros;
    const isExhausted = crosses(BigInt(limit) * 5n);
    if (!isExhausted && !crosses(BigInt(limit) * 4n)) return [];
    const payload = {
      accountId,
      budgetId,
      budget: budget.of,
      period,
      isExhausted,
      spentMicros: after.toString(),
      limitMicros: limit,
      resetsAt: resets_at.toISOString(),
      at: new Date().toISOString(),
    };
    return [{ contract: budgetReached, payload, context }];
  });
}

const idsOf = (budgets: Budget[]): string[] => budgets.map(({ id }) => id);

function assertWithin(budgets: Budget[], payment: Priced, spending: SpendingRow[]): void {
  for (const budget of budgets) {
    const exceeded = exceededBy(
      payment,
      budget,
      spending.filter(({ budget_id }) => budget_id === budget.id),
    );
    if (exceeded) throw refuse(createOffer, 'budget_exceeded', exceeded);
  }
}

/** The first limit that the payment exceeds. Limits that never reset are checked first. */
function exceededBy(payment: Priced, budget: Budget, spending: SpendingRow[]): Exceeded | undefined {
  const price = BigInt(payment.gross_micros);
  const refused = { budget: budget.of, price_usd: usdNumber(price), limit_usd: null, spent_usd: null, resets_at: null };
  if (budget.frozen) return { ...refused, limit: 'frozen' };
  if (budget.listings && !budget.listings.some((id) => id === payment.listing_id))
    return { ...refused, limit: 'listings' };
  const perCall = budget.perCallMicros;
  if (perCall !== null && price > BigInt(perCall))
    return { ...refused, limit: 'per_call', limit_usd: usdNumber(BigInt(perCall)) };
  const limits = { month: budget.perMonthMicros, day: budget.perDayMicros };
  for (const period of ['month', 'day'] as const) {
    const [limit, spent] = [limits[period], spending.find((row) => row.period === period)!];
    if (limit !== null && BigInt(spent.spent_micros) + price > BigInt(limit))
      return {
        ...refused,
        limit: `per_${period}`,
        limit_usd: usdNumber(BigInt(limit)),
        spent_usd: usdNumber(BigInt(spent.spent_micros)),
        resets_at: spent.resets_at.toISOString(),
      };
  }
  return undefined;
}
