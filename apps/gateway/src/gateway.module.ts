import { Module } from '@nestjs/common';
import { CallsModule } from './calls/calls.module.js';
import { EndpointsModule } from './endpoints/endpoints.module.js';
import { HistoryModule } from './history/history.module.js';
import { JobsModule } from './jobs/jobs.module.js';
import { WebhooksModule } from './webhooks/webhooks.module.js';

@Module({ imports: [EndpointsModule, CallsModule, HistoryModule, JobsModule, WebhooksModule] })
export class GatewayModule {}
