import { Module } from '@nestjs/common';
import { CopyStanding } from './copy-standing.job.js';
import { PopularityEventController } from './popularity.event-controller.js';

@Module({ controllers: [PopularityEventController], providers: [CopyStanding] })
export class PopularityModule {}
