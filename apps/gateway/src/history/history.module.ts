import { Module } from '@nestjs/common';
import { CallsModule } from '../calls/calls.module.js';
import { ContentsModule } from '../contents/contents.module.js';
import { GatewayRequestsQuery } from './gateway-requests.query.js';
import { PruneHistory } from './prune-history.job.js';

@Module({
  imports: [CallsModule, ContentsModule],
  providers: [GatewayRequestsQuery, PruneHistory],
})
export class HistoryModule {}
