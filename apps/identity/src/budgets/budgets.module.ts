import { Module } from '@nestjs/common';
import { BudgetSetters } from './budget-setters.js';
import { BudgetsMessageController } from './budgets.message-controller.js';
import { GetBudget } from './get-budget.query.js';
import { UpdateBudget } from './update-budget.use-case.js';

@Module({
  controllers: [BudgetsMessageController],
  providers: [BudgetSetters, GetBudget, UpdateBudget],
  exports: [BudgetSetters],
})
export class BudgetsModule {}
