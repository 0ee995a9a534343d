import { Module } from '@nestjs/common';
import { FactsModule } from './facts/facts.module.js';
import { ReviewsModule } from './reviews/reviews.module.js';
import { ScoreModule } from './score/score.module.js';

@Module({ imports: [FactsModule, ReviewsModule, ScoreModule] })
export class ReputationModule {}
