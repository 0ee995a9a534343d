import { Module } from '@nestjs/common';
import { AccountFacts } from './account-facts.js';
import { CallFacts } from './call-facts.js';
import { AccountClusters } from './account-clusters.js';
import { Trades } from './trades.js';

@Module({ providers: [AccountFacts, CallFacts, AccountClusters, Trades], exports: [AccountClusters, Trades] })
export class FactsModule {}
