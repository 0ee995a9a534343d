import { Module } from '@nestjs/common';
import { Journal } from './journal.js';
import { SumBalances } from './sum-balances.job.js';

@Module({ providers: [Journal, SumBalances], exports: [Journal] })
export class JournalModule {}
