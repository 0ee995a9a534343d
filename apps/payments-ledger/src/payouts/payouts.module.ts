import { Module } from '@nestjs/common';
import { JournalModule } from '../journal/journal.module.js';
import { RailsModule } from '../rails/rails.module.js';
import { ConfirmPayouts } from './confirm-payouts.use-case.js';
import { DuePayouts } from './due-payouts.query.js';
import { ExportPayouts } from './export-payouts.use-case.js';

@Module({ imports: [JournalModule, RailsModule], providers: [DuePayouts, ExportPayouts, ConfirmPayouts] })
export class PayoutsModule {}
