import type { InputOf } from '@market/contracts';
import { getBudget, updateBudget } from '@market/contracts/identity';
import { HandleRequest, principalOf, type RequestContext } from '@market/messaging';
import { Controller } from '@nestjs/common';
import { GetBudget } from './get-budget.query.js';
import { UpdateBudget } from './update-budget.use-case.js';

@Controller()
export class BudgetsMessageController {
  constructor(
    private readonly getBudgetQuery: GetBudget,
    private readonly updateBudgetUseCase: UpdateBudget,
  ) {}

  @HandleRequest(getBudget)
  getBudget(_input: InputOf<typeof getBudget>, context: RequestContext) {
    return this.getBudgetQuery.execute(principalOf(context).accountId);
  }

  @HandleRequest(updateBudget)
  updateBudget(input: InputOf<typeof updateBudget>, context: RequestContext) {
    return this.updateBudgetUseCase.execute(input, context);
  }
}
