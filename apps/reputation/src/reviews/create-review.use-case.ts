import type { InputOf } from '@market/contracts';
import { getOffering, type Offering } from '@market/contracts/catalog';
import { getPurchaseEvidence } from '@market/contracts/payments-ledger';
import { createReview, listingRated } from '@market/contracts/reputation';
import { newId } from '@market/kernel';
import { HandleRequest, isRefusal, MessageBus, principalOf, refuse, type RequestContext } from '@market/messaging';
import { Database, Outbox, sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { AccountEvents } from '../events/account-events.js';
import { AccountClusters } from '../facts/account-clusters.js';
import { Trades } from '../facts/trades.js';
import { REVIEW_COLUMNS, toReview, type Review, type ReviewRow } from './review-row.js';
import { textProblem } from './review-text.js';

type Input = InputOf<typeof createReview>;

const WINDOW_DAYS = 30;

const exists = sql('reviews.exists', 'SELECT 1 FROM reviews WHERE listing_id = $1 AND reviewer_id = $2');
const isRecent = sql(
  'reviews.is-recent',
  `SELECT greatest($1::timestamptz, $2::timestamptz) >= now() - interval '${WINDOW_DAYS} days' AS recent`,
);
const insert = sql(
  'reviews.insert',
  `INSERT INTO reviews (id, listing_id, seller_id, reviewer_id, accuracy_rating, reliability_rating, value_rating,
     title, comment, created_at)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, date_trunc('milliseconds', now()))
   ON CONFLICT (listing_id, reviewer_id) DO NOTHING RETURNING ${REVIEW_COLUMNS}`,
);
const findTotals = sql(
  'listing-totals.ratings',
  'SELECT reviews, accuracy_sum, reliability_sum, value_sum FROM listing_totals WHERE listing_id = $1',
);

/**
 * Creates the review of a buyer, at most one for each agent and listing. It asks the ledger for the purchase, because
 * the event may not have arrived yet. The unique index serializes concurrent attempts.
 */
@Injectable()
export class CreateReview {
  constructor(
    private readonly database: Database,
    private readonly bus: MessageBus,
    private readonly outbox: Outbox,
    private readonly trades: Trades,
    private readonly clusters: AccountClusters,
    private readonly accountEvents: AccountEvents,
  ) {}

  @HandleRequest(createReview)
  async execute(input: Input, context: RequestContext): Promise<Review> {
    const { accountId: reviewerId, accountType } = principalOf(context);
    if (accountType !== 'agent') throw refuse(createReview, 'agent_required', {});
    const problem = textProblem(input);
    if (problem) throw refuse(createReview, 'text_invalid', problem);
    const offering = await this.reviewable(input.listing_ref, context);
    const { listingId, sellerId } = offering;
    if (sellerId === reviewerId) throw refuse(createReview, 'own_listing', {});
    if (await this.clusters.isSameCluster(this.database, [reviewerId, sellerId]))
      throw refuse(createReview, 'related_to_seller', {});
    if ((await this.database.query(exists, [listingId, reviewerId])).length > 0)
      throw refuse(createReview, 'already_reviewed', {});
    await this.assertBoughtLately(reviewerId, offering, context);
    return this.database.transaction((tx) => this.store(tx, input, { listingId, sellerId, reviewerId }, context));
  }

  private async reviewable(ref: string, context: RequestContext): Promise<Offering> {
    const offering = await this.bus.request(getOffering, { ref }, context).catch((error: unknown) => {
      if (isRefusal(error, getOffering, 'listing_not_found')) throw refuse(createReview, 'listing_not_found', {});
      throw error;
    });
    if (offering.status !== 'active') throw refuse(createReview, 'listing_not_found', {});
    return offering;
  }

  private async assertBoughtLately(
    buyerId: string,
    { listingId, pricingModel, priceMicros }: Offering,
    context: RequestContext,
  ): Promise<void> {
    const { lastBillableCallAt, subscriptionStartedAt } = await this.bus.request(
      getPurchaseEvidence,
      { buyerId, listingId },
      context,
    );
    if (lastBillableCallAt === null && subscriptionStartedAt === null)
      throw pricingModel === 'per_call' && priceMicros === '0'
        ? refuse(createReview, 'free_calls_not_reviewed', {})
        : refuse(createReview, 'purchase_required', {});
    const [answer] = await this.database.query<{ recent: boolean }>(isRecent, [
      lastBillableCallAt,
      subscriptionStartedAt,
    ]);
    if (!answer!.recent) throw refuse(createReview, 'review_window_closed', { window_days: WINDOW_DAYS });
  }

  private async store(
    tx: Tx,
    input: Input,
    { listingId, sellerId, reviewerId }: { listingId: string; sellerId: string; reviewerId: string },
    context: RequestContext,
  ): Promise<Review> {
    const { accuracy_rating, reliability_rating, value_rating, title = null, comment = null } = input;
    const [row] = await tx.query<ReviewRow>(insert, [
      newId(),
      listingId,
      sellerId,
      reviewerId,
      accuracy_rating,
      reliability_rating,
      value_rating,
      title,
      comment,
    ]);
    if (!row) throw refuse(createReview, 'already_reviewed', {});
    this.trades.add(tx, [
      {
        seller_id: sellerId,
        buyer_id: reviewerId,
        listing_id: listingId,
        kind: 'review',
        paid_micros: '0',
        at: row.created_at,
        accuracy: accuracy_rating,
        reliability: reliability_rating,
        value: value_rating,
      },
    ]);
    // The totals stay locked until the commit, so that concurrent reviews of a listing are counted one after the other.
    const [totals] = await tx.query<{
      reviews: number;
      accuracy_sum: number;
      reliability_sum: number;
      value_sum: number;
    }>(findTotals, [listingId]);
    const { reviews, accuracy_sum, reliability_sum, value_sum } = totals!;
    const review = toReview(row);
    const { id: review_id, created_at: at } = review;
    const data = {
      review_id,
      listing_id: listingId,
      reviewer_id: reviewerId,
      accuracy_rating,
      reliability_rating,
      value_rating,
    };
    await this.accountEvents.add(tx, [{ accountId: sellerId, type: 'review', at, data }]);
    this.outbox.add(
      tx,
      listingRated,
      {
        listingId,
        reviewCount: reviews,
        averageAccuracy: accuracy_sum / reviews,
        averageReliability: reliability_sum / reviews,
        averageValue: value_sum / reviews,
        ratedAt: review.created_at,
      },
      context,
    );
    return review;
  }
}
