import type { Budget, BudgetFields } from '@market/contracts';
import { microsFromUsdNumber } from '@market/kernel';

const microsText = (usd: number | null): string | null =>
  usd === null ? null : (microsFromUsdNumber(usd)?.toString() ?? null);

/** Converts a stored budget to the form in the principal. */
export const toBudget = (
  id: string,
  of: Budget['of'],
  { per_call_usd, per_day_usd, per_month_usd, listings, frozen }: BudgetFields,
): Budget => ({
  id,
  of,
  perCallMicros: microsText(per_call_usd),
  perDayMicros: microsText(per_day_usd),
  perMonthMicros: microsText(per_month_usd),
  listings,
  frozen,
});
