import { Module } from '@nestjs/common';
import { CallsModule } from './calls/calls.module.js';
import { EndpointsModule } from './endpoints/endpoints.module.js';
import { HistoryModule } from './history/history.module.js';

@Module({ imports: [EndpointsModule, CallsModule, HistoryModule] })
export class GatewayModule {}
