import { Module } from '@nestjs/common';
import { FeesModule } from '../fees/fees.module.js';
import { JournalModule } from '../journal/journal.module.js';
import { PaymentsModule } from '../payments/payments.module.js';
import { CompleteRefund } from './complete-refund.js';
import { ConfirmRefund } from './confirm-refund.use-case.js';
import { ListRefunds } from './list-refunds.query.js';
import { RefundPayments } from './refund-payments.job.js';
import { TransfersOnChain } from './transfers-on-chain.js';

@Module({
  imports: [FeesModule, JournalModule, PaymentsModule],
  providers: [CompleteRefund, ConfirmRefund, ListRefunds, RefundPayments, TransfersOnChain],
})
export class RefundsModule {}
