import type { InputOf, OutputOf } from '@market/contracts';
import { getSpending } from '@market/contracts/payments-ledger';
import { invariant, usdNumber } from '@market/kernel';
import { HandleRequest, principalOf, type RequestContext } from '@market/messaging';
import { Database } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { readSpending, type SpendingRow } from './spending.js';

type Output = OutputOf<typeof getSpending>;

@Injectable()
export class GetSpending {
  constructor(private readonly database: Database) {}

  @HandleRequest(getSpending)
  async execute({ budgetId }: InputOf<typeof getSpending>, context: RequestContext): Promise<Output> {
    const { accountId } = principalOf(context);
    const rows = await this.database.query<SpendingRow>(readSpending, [[budgetId], accountId, null]);
    const [day, month] = [rows.find(({ period }) => period === 'day'), rows.find(({ period }) => period === 'month')];
    invariant(day && month, 'every budget has a day and a month');
    return { day: toView(day), month: toView(month) };
  }
}

const toView = ({ starts_at, resets_at, spent_micros }: SpendingRow): Output['day'] => ({
  from: starts_at.toISOString(),
  resets_at: resets_at.toISOString(),
  spent_usd: usdNumber(BigInt(spent_micros)),
});
