import { Module } from '@nestjs/common';
import { QualityEventController } from './quality.event-controller.js';
import { Quality } from './quality.js';

@Module({ controllers: [QualityEventController], providers: [Quality], exports: [Quality] })
export class QualityModule {}
