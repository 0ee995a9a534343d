import { Module } from '@nestjs/common';
import { AccountFactsEventController } from './account-facts.event-controller.js';
import { CallFactsEventController } from './call-facts.event-controller.js';
import { AccountClusters } from './account-clusters.js';
import { Trades } from './trades.js';

@Module({
  controllers: [AccountFactsEventController, CallFactsEventController],
  providers: [AccountClusters, Trades],
  exports: [AccountClusters, Trades],
})
export class FactsModule {}
