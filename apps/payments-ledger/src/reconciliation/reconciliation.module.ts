import { Module } from '@nestjs/common';
import { PaymentsModule } from '../payments/payments.module.js';
import { RailsModule } from '../rails/rails.module.js';
import { ReconcileSettlements } from './reconcile-settlements.js';
import { ReconcileSettlementsJob } from './reconcile-settlements.job.js';

@Module({ imports: [PaymentsModule, RailsModule], providers: [ReconcileSettlements, ReconcileSettlementsJob] })
export class ReconciliationModule {}
