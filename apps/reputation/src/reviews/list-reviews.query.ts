import type { InputOf, OutputOf } from '@market/contracts';
import { getOffering } from '@market/contracts/catalog';
import { listReviews } from '@market/contracts/reputation';
import { HandleRequest, isRefusal, MessageBus, refuse, type RequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { REVIEW_COLUMNS, toReview, type ReviewRow } from './review-row.js';

const count = sql('listing-totals.reviews', 'SELECT reviews FROM listing_totals WHERE listing_id = $1');
const findPage = sql(
  'reviews.page',
  `SELECT ${REVIEW_COLUMNS} FROM reviews WHERE listing_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2 OFFSET $3`,
);

/** The reviews of an active listing, newest first. */
@Injectable()
export class ListReviews {
  constructor(
    private readonly database: Database,
    private readonly bus: MessageBus,
  ) {}

  @HandleRequest(listReviews)
  async execute(
    { listing_ref: ref, page, limit }: InputOf<typeof listReviews>,
    context: RequestContext,
  ): Promise<OutputOf<typeof listReviews>> {
    const listing = await this.bus.request(getOffering, { ref }, context).catch((error: unknown) => {
      if (isRefusal(error, getOffering, 'listing_not_found')) throw refuse(listReviews, 'listing_not_found', {});
      throw error;
    });
    if (listing.status !== 'active') throw refuse(listReviews, 'listing_not_found', {});
    const [totals] = await this.database.query<{ reviews: number }>(count, [listing.listingId]);
    const total = totals?.reviews ?? 0;
    const offset = (page - 1) * limit;
    const rows =
      offset < total ? await this.database.query<ReviewRow>(findPage, [listing.listingId, limit, offset]) : [];
    return { items: rows.map(toReview), total };
  }
}
