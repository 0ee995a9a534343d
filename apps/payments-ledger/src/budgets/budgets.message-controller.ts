import type { InputOf } from '@market/contracts';
import { getSpending } from '@market/contracts/payments-ledger';
import { HandleRequest, principalOf, type RequestContext } from '@market/messaging';
import { Controller } from '@nestjs/common';
import { GetSpending } from './get-spending.query.js';

@Controller()
export class BudgetsMessageController {
  constructor(private readonly getSpendingQuery: GetSpending) {}

  @HandleRequest(getSpending)
  getSpending(input: InputOf<typeof getSpending>, context: RequestContext) {
    return this.getSpendingQuery.execute(input, principalOf(context).accountId);
  }
}
