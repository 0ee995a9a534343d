import { Module } from '@nestjs/common';
import { CallsModule } from '../calls/calls.module.js';
import { GatewayRequestsQuery } from './gateway-requests.query.js';
import { HistoryMessageController } from './history.message-controller.js';
import { PruneHistory } from './prune-history.job.js';

@Module({
  imports: [CallsModule],
  controllers: [HistoryMessageController],
  providers: [GatewayRequestsQuery, PruneHistory],
})
export class HistoryModule {}
