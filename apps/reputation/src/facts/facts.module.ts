import { Module } from '@nestjs/common';
import { EventsModule } from '../events/events.module.js';
import { AccountFactsEventController } from './account-facts.event-controller.js';
import { CallFactsEventController } from './call-facts.event-controller.js';
import { AccountClusters } from './account-clusters.js';
import { FeeFacts } from './fee-facts.js';
import { RefundFactsEventController } from './refund-facts.event-controller.js';
import { Trades } from './trades.js';

@Module({
  imports: [EventsModule],
  controllers: [AccountFactsEventController, CallFactsEventController, RefundFactsEventController],
  providers: [AccountClusters, FeeFacts, Trades],
  exports: [AccountClusters, Trades],
})
export class FactsModule {}
