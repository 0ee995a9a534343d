import { Module } from '@nestjs/common';
import { RailsModule } from '../rails/rails.module.js';
import { FindPayments } from './find-payments.query.js';
import { MoneyOverview } from './money-overview.query.js';

@Module({
  imports: [RailsModule],
  providers: [FindPayments, MoneyOverview],
})
export class OperatorsModule {}
