import { Module } from '@nestjs/common';
import { JournalModule } from '../journal/journal.module.js';
import { BookFees } from './book-fees.js';
import { FeeStandings } from './fee-standings.js';

@Module({ imports: [JournalModule], providers: [FeeStandings, BookFees], exports: [FeeStandings, BookFees] })
export class FeesModule {}
