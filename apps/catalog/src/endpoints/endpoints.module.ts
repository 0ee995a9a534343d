import { Module } from '@nestjs/common';
import { Endpoints } from './endpoints.js';

@Module({ providers: [Endpoints], exports: [Endpoints] })
export class EndpointsModule {}
