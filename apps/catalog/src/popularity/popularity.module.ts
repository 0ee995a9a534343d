import { Module } from '@nestjs/common';
import { PopularityEventController } from './popularity.event-controller.js';

@Module({ controllers: [PopularityEventController] })
export class PopularityModule {}
