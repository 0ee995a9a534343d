import { Module } from '@nestjs/common';
import { Journal } from './journal.js';

@Module({ providers: [Journal], exports: [Journal] })
export class JournalModule {}
