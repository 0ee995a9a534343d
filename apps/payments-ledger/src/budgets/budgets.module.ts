import { Module } from '@nestjs/common';
import { Budgets } from './budgets.js';
import { GetSpending } from './get-spending.query.js';

@Module({ providers: [Budgets, GetSpending], exports: [Budgets] })
export class BudgetsModule {}
