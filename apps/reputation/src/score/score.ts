/**
 * The score of an agent as a seller: a pure function of its buyers' purchases, payments and reviews. It reads no clock,
 * so the same facts always give the same score.
 *
 *     market_score = 1000 × reliability × reputation × volume
 *
 * A buyer is a party: all accounts that share a claimer or a wallet. Purchases of the seller's own party do not count.
 * Three factors determine how each buyer counts:
 *
 * 1. Its experience. Its calls count as delivered or failed, at most 20 of them. Its review is the mean of its ratings,
 *    one star as 0 and five stars as 1; a buyer without a review counts as one that gave four stars.
 * 2. Its net spending. The part `1 − 2 × earned / spent` of what it paid this seller counts, where both sums are over all
 *    its trade in the marketplace. A buyer reaches its full weight at 10 cents, and more money adds nothing.
 * 3. Its other purchases. Its weight is reduced by a third of the share of its money that it spent on this seller, so by
 *    a third if it buys from no other seller.
 *
 *     weight      = min(1, paid × max(0, 1 − 2 × earned / spent) / $0.10) × (1 − ⅓ × paid / spent)
 *     reliability = Σ weight × delivered / Σ weight × calls                    calls of a buyer scaled down to 20
 *     reputation  = Σ weight × review / Σ weight
 *     volume      = Σ weight / (Σ weight + 1.5)
 *
 * `volume` times either of the others is the mean of a Beta distribution that starts at Beta(0, 1.5): the seller starts
 * with one and a half dissatisfied buyers, and each buyer adds its weight to one side or the other (Jøsang and Ismail, The
 * Beta Reputation System, 2002).
 *
 * A refund that the seller has owed for too long counts as one more dissatisfied buyer until it is paid:
 * volume = Σ weight / (Σ weight + 1.5 + unpaid refunds).
 *
 * Earnings count twice, because members of a ring that trade at random do not earn exactly what they spend; if earnings
 * counted once, half of the members would count as buyers of the difference. Weight is linear in money, so dividing the
 * same money among more accounts adds no weight: no seller has a higher score than `1000 × net / (net + $0.15)`, where
 * net is the net money that it was paid.
 */

export interface Purchases {
  categoryId: string | null;
  /** Delivered calls and started subscriptions. */
  delivered: number;
  failed: number;
  /** In micros, like all money here. Sums need not be exact, and a double is exact below 9 billion dollars. */
  paid: number;
  reviews: number;
  /** The sum over all reviews, each 1 to 5. */
  accuracySum: number;
  /** The sum of all three ratings over all reviews. */
  ratingSum: number;
}

/** A party that bought from the seller. */
export interface Buyer {
  party: string;
  /** In the whole marketplace, without trades among its own accounts. */
  spent: number;
  earned: number;
  purchases: Purchases[];
}

export interface Score {
  /** Shares are from 0 to 1. */
  score: number;
  reliability: number;
  accuracy: number;
  reputation: number;
  volume: number;
  /** Σ weight: the buyers in units of buyers with full weight. */
  buyers: number;
}

const FULL_SPENDING_MICROS = 100_000;
const LONE_DISCOUNT = 1 / 3;
const PRIOR_BUYERS = 1.5;
const CALLS_PER_BUYER = 20;
const UNREVIEWED = 0.75;

/** @param isCounted which purchases count; by default all. */
export function scoreOf(
  buyers: Buyer[],
  unpaidRefunds = 0,
  isCounted: (purchases: Purchases) => boolean = () => true,
): Score {
  const contributions = [...buyers]
    .sort((a, b) => (a.party < b.party ? -1 : 1))
    .map((buyer) => contributionOf(buyer, buyer.purchases.filter(isCounted)));
  const weights = sum(contributions, ({ weight }) => weight);
  const calls = sum(contributions, (each) => each.weight * each.calls);
  const reliability = shareOf(
    sum(contributions, (each) => each.weight * each.delivered),
    calls,
  );
  const accuracy = shareOf(
    sum(contributions, (each) => each.weight * each.accuracy),
    weights,
  );
  const reputation = shareOf(
    sum(contributions, (each) => each.weight * each.review),
    weights,
  );
  const volume = weights / (weights + PRIOR_BUYERS + unpaidRefunds);
  return { score: reliability * reputation * volume, reliability, accuracy, reputation, volume, buyers: weights };
}

function contributionOf({ spent, earned, purchases: all }: Buyer, purchases: Purchases[]) {
  const total = (column: 'delivered' | 'failed' | 'paid' | 'reviews' | 'accuracySum' | 'ratingSum'): number =>
    sum(purchases, (bought) => bought[column]);
  const net = total('paid') * Math.max(0, 1 - (2 * earned) / Math.max(1, spent));
  const calls = Math.min(CALLS_PER_BUYER, total('delivered') + total('failed'));
  return {
    weight:
      Math.min(1, net / FULL_SPENDING_MICROS) *
      (1 -
        LONE_DISCOUNT *
          Math.min(
            1,
            shareOf(
              sum(all, ({ paid }) => paid),
              spent,
            ),
          )),
    calls,
    delivered: calls * shareOf(total('delivered'), total('delivered') + total('failed')),
    accuracy: total('reviews') === 0 ? UNREVIEWED : (total('accuracySum') / total('reviews') - 1) / 4,
    review: total('reviews') === 0 ? UNREVIEWED : (total('ratingSum') / (3 * total('reviews')) - 1) / 4,
  };
}

const shareOf = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);
export const sum = <T>(items: T[], of: (item: T) => number): number =>
  items.reduce((total, item) => total + of(item), 0);
