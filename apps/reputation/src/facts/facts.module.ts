import { Module } from '@nestjs/common';
import { AccountFacts } from './account-facts.js';
import { CallFacts } from './call-facts.js';
import { Parties } from './parties.js';
import { Trades } from './trades.js';

@Module({ providers: [AccountFacts, CallFacts, Parties, Trades], exports: [Parties, Trades] })
export class FactsModule {}
