import { Module } from '@nestjs/common';
import { EventsModule } from './events/events.module.js';
import { FactsModule } from './facts/facts.module.js';
import { PopularityModule } from './popularity/popularity.module.js';
import { ReviewsModule } from './reviews/reviews.module.js';
import { ScoreModule } from './score/score.module.js';

@Module({ imports: [EventsModule, FactsModule, PopularityModule, ReviewsModule, ScoreModule] })
export class ReputationModule {}
