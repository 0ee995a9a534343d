import { Module } from '@nestjs/common';
import { ProvidersEventController } from './providers.event-controller.js';
import { Providers } from './providers.js';

@Module({ controllers: [ProvidersEventController], providers: [Providers], exports: [Providers] })
export class ProvidersModule {}
