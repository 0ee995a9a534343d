import type { InputOf } from '@market/contracts';
import { createReview, listReviews } from '@market/contracts/reputation';
import { HandleRequest, type RequestContext } from '@market/messaging';
import { Controller } from '@nestjs/common';
import { CreateReview } from './create-review.use-case.js';
import { ListReviews } from './list-reviews.query.js';

@Controller()
export class ReviewsMessageController {
  constructor(
    private readonly createReviewUseCase: CreateReview,
    private readonly listReviewsQuery: ListReviews,
  ) {}

  @HandleRequest(createReview)
  createReview(input: InputOf<typeof createReview>, context: RequestContext) {
    return this.createReviewUseCase.execute(input, context);
  }

  @HandleRequest(listReviews)
  listReviews(input: InputOf<typeof listReviews>, context: RequestContext) {
    return this.listReviewsQuery.execute(input, context);
  }
}
