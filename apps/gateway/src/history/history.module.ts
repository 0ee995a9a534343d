import { Module } from '@nestjs/common';
import { GatewayRequestsQuery } from './gateway-requests.query.js';
import { HistoryMessageController } from './history.message-controller.js';
import { PruneHistory } from './prune-history.job.js';

@Module({ controllers: [HistoryMessageController], providers: [GatewayRequestsQuery, PruneHistory] })
export class HistoryModule {}
