import { Module } from '@nestjs/common';
import { RatingsEventController } from './ratings.event-controller.js';

@Module({ controllers: [RatingsEventController] })
export class RatingsModule {}
