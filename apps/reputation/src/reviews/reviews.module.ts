import { Module } from '@nestjs/common';
import { EventsModule } from '../events/events.module.js';
import { FactsModule } from '../facts/facts.module.js';
import { CreateReview } from './create-review.use-case.js';
import { ListReviews } from './list-reviews.query.js';

@Module({
  imports: [EventsModule, FactsModule],
  providers: [CreateReview, ListReviews],
})
export class ReviewsModule {}
