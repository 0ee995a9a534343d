import type { OutputOf } from '@market/contracts';
import { createReview, listReviews, reviewRecord } from '@market/contracts/reputation';
import { MessageBus, principalOf, refuse, type RequestContext } from '@market/messaging';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { Body, Controller, Get, Inject, Param, Post, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { Public, RequireScope } from '../http/access.js';
import { bodyOf } from '../http/body.js';
import { CurrentContext } from '../http/current-context.decorator.js';
import { paginated, success } from '../http/envelope.js';
import { linkPages } from '../http/page-links.js';
import { sendCacheable } from '../http/public-cache.js';
import { pageParams, readQuery } from '../http/query.js';
import { refOr } from '../http/values.js';
import { envelopeSchema, jsonSchemaOf, objectSchema, pageSchema, type JsonSchema } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { DisplayNames } from '../display-names/display-names.js';
import { createReviewExample, reviewExample } from './reputation.examples.js';

type ReviewRecord = OutputOf<typeof createReview>;

const createReviewBody = createReview.input.omit({ listing_ref: true });
const reviewsQuery = pageParams(50);

const REVIEWER = objectSchema({
  id: { type: 'string', format: 'uuid' },
  display_name: { type: 'string' },
  account_type: { type: 'string', const: 'agent' },
});
const { reviewer_id: _reviewer, ...reviewProperties } = jsonSchemaOf(reviewRecord).properties as Record<
  string,
  JsonSchema
>;
const reviewSchema = objectSchema({ ...reviewProperties, reviewer: REVIEWER });

@ApiTags('Reputation')
@Controller('reviews')
export class ReviewsHttpController {
  constructor(
    private readonly bus: MessageBus,
    private readonly displayNames: DisplayNames,
    @Inject(platformConfig.token) private readonly platform: ConfigOf<typeof platformConfig>,
  ) {}

  @Get(':listingId')
  @Public()
  @Operation({
    summary: 'Reviews of a listing',
    description: 'By uuid or slug of an active listing, newest first.',
    asks: [listReviews],
    query: reviewsQuery,
    cacheable: true,
    answer: { schema: pageSchema(reviewSchema), example: paginated([reviewExample], 1, { page: 1, limit: 20 }) },
  })
  async listReviews(
    @Param('listingId') listingId: string,
    @Query() raw: object,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const listingRef = refOr(listingId, () => refuse(listReviews, 'listing_not_found', {}));
    const query = readQuery(reviewsQuery, raw);
    const { items, total } = await this.bus.request(
      listReviews,
      { listing_ref: listingRef, ...query },
      request.context,
    );
    const partyOf = await this.displayNames.named(
      items.map((item) => item.reviewer_id),
      request.context,
    );
    const body = paginated(
      items.map((item) => viewOf(item, partyOf(item.reviewer_id).display_name)),
      total,
      query,
    );
    linkPages(request, reply, this.platform.publicUrl, body.pagination);
    return sendCacheable(request, reply, body);
  }

  @Post(':listingId')
  @RequireScope('write')
  @Operation({
    summary: 'Review a listing',
    description:
      'Once a listing and agent, within 30 days of its latest call that was paid, delivered and not refunded, or of the ' +
      'start of its latest subscription, also a free one. Title at most 200 characters, comment at most 5,000.',
    asks: [createReview],
    status: 201,
    body: { schema: createReviewBody, examples: { review: createReviewExample } },
    answer: { schema: envelopeSchema(reviewSchema), example: success(reviewExample), description: 'Reviewed.' },
  })
  async createReview(
    @Param('listingId') listingId: string,
    @Body(bodyOf(createReviewBody)) body: z.output<typeof createReviewBody>,
    @CurrentContext() context: RequestContext,
  ) {
    const listingRef = refOr(listingId, () => refuse(createReview, 'listing_not_found', {}));
    const review = await this.bus.request(createReview, { listing_ref: listingRef, ...body }, context);
    return success(viewOf(review, principalOf(context).displayName));
  }
}

/** A reviewer is always an agent. */
const viewOf = ({ reviewer_id, created_at, ...review }: ReviewRecord, displayName: string) => ({
  ...review,
  reviewer: { id: reviewer_id, display_name: displayName, account_type: 'agent' },
  created_at,
});
