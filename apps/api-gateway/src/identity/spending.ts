import type { BudgetFields, OutputOf } from '@market/contracts';
import { getSpending } from '@market/contracts/payments-ledger';
import { invariant, microsFromUsdNumber, usdNumber, type Micros } from '@market/kernel';
import type { MessageBus, RequestContext } from '@market/messaging';
import { jsonSchemaOf, type JsonSchema } from '../openapi/json-schema.js';

type Spent = OutputOf<typeof getSpending>['day'];
type SpentAndLeft = Spent & { left_usd: number | null };

export interface Spending {
  day: SpentAndLeft;
  month: SpentAndLeft;
}

const { properties: periods } = jsonSchemaOf(getSpending.output) as { properties: Record<string, JsonSchema> };
const withLeft = ({ properties, required, ...period }: JsonSchema): JsonSchema => ({
  ...period,
  properties: {
    ...(properties as object),
    left_usd: {
      type: ['number', 'null'],
      description: 'What is left of the limit, in US dollars; null without a limit.',
    },
  },
  required: [...(required as string[]), 'left_usd'],
});

export const spendingSchema: JsonSchema = {
  type: 'object',
  description: 'Of the whole of this day and this month of UTC, with a budget and without.',
  properties: { day: withLeft(periods.day!), month: withLeft(periods.month!) },
  required: ['day', 'month'],
};

/** Returns what a key or an account spent, and what is left of its budget. */
export async function spendingOf(
  bus: MessageBus,
  budgetId: string,
  budget: BudgetFields | null,
  context: RequestContext,
): Promise<Spending> {
  const { day, month } = await bus.request(getSpending, { budgetId }, context);
  return { day: left(day, budget?.per_day_usd ?? null), month: left(month, budget?.per_month_usd ?? null) };
}

/** Nothing is left if the limit was lowered below the amount spent. */
function left(spent: Spent, limitUsd: number | null): SpentAndLeft {
  if (limitUsd === null) return { ...spent, left_usd: null };
  const rest = micros(limitUsd) - micros(spent.spent_usd);
  return { ...spent, left_usd: usdNumber(rest > 0n ? rest : 0n) };
}

function micros(usd: number): Micros {
  const exact = microsFromUsdNumber(usd);
  invariant(exact !== null, `${usd} is an amount of micros`);
  return exact;
}
