import { Module } from '@nestjs/common';
import { BudgetsMessageController } from './budgets.message-controller.js';
import { Budgets } from './budgets.js';
import { GetSpending } from './get-spending.query.js';

@Module({ controllers: [BudgetsMessageController], providers: [Budgets, GetSpending], exports: [Budgets] })
export class BudgetsModule {}
