import { Module } from '@nestjs/common';
import { BooksModule } from './books/books.module.js';
import { BudgetsModule } from './budgets/budgets.module.js';
import { PaymentsModule } from './payments/payments.module.js';
import { SubscriptionsModule } from './subscriptions/subscriptions.module.js';

@Module({ imports: [PaymentsModule, SubscriptionsModule, BooksModule, BudgetsModule] })
export class PaymentsLedgerModule {}
