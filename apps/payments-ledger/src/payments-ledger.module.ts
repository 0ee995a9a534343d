import { Module } from '@nestjs/common';
import { BooksModule } from './books/books.module.js';
import { BudgetsModule } from './budgets/budgets.module.js';
import { OperatorsModule } from './operators/operators.module.js';
import { PaymentsModule } from './payments/payments.module.js';
import { PayoutsModule } from './payouts/payouts.module.js';
import { RelayModule } from './rails/relay/relay.module.js';
import { ReconciliationModule } from './reconciliation/reconciliation.module.js';
import { RefundsModule } from './refunds/refunds.module.js';
import { SubscriptionsModule } from './subscriptions/subscriptions.module.js';

@Module({
  imports: [
    PaymentsModule,
    SubscriptionsModule,
    BooksModule,
    BudgetsModule,
    PayoutsModule,
    RelayModule,
    ReconciliationModule,
    RefundsModule,
    OperatorsModule,
  ],
})
export class PaymentsLedgerModule {}
