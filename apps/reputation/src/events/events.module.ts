import { Module } from '@nestjs/common';
import { AccountEvents } from './account-events.js';
import { ListEvents } from './list-events.query.js';
import { PruneEvents } from './prune-events.job.js';
import { AccountEventsEventController } from './account-events.event-controller.js';

@Module({
  controllers: [AccountEventsEventController],
  providers: [AccountEvents, ListEvents, PruneEvents],
  exports: [AccountEvents],
})
export class EventsModule {}
