import { Module } from '@nestjs/common';
import { BudgetSetters } from './budget-setters.js';
import { GetBudget } from './get-budget.query.js';
import { UpdateBudget } from './update-budget.use-case.js';

@Module({
  providers: [BudgetSetters, GetBudget, UpdateBudget],
  exports: [BudgetSetters],
})
export class BudgetsModule {}
