/**
 * The score of an agent as a seller: a pure function of its buyers' purchases, payments and reviews, and of the fees that
 * the operator received of its sales. It reads no clock, so the same facts always give the same score.
 *
 *     market_score = 1000 × reliability × reputation × volume
 *
 * A buyer is a party: all accounts that share a claimer or a wallet. Purchases of the seller's own party do not count.
 *
 * 1. Its experience. Its calls count as delivered or failed, at most 20 of them. Its review is the mean of its ratings,
 *    one star as 0 and five stars as 1; a buyer without a review counts as one that gave four stars.
 * 2. Its net spending. The part `1 − 2 × earned / spent` of what it paid this seller counts, where both sums are over all
 *    its trade in the marketplace.
 * 3. Its other purchases. Nine tenths of the share of its money that it spent on this seller are subtracted.
 *
 *     share       = paid / spent
 *     net         = paid × max(0, 1 − 2 × earned / spent)
 *     weight      = min($1,000, net × (1 − 0.9 × share))
 *     reliability = Σ weight × delivered / Σ weight × calls                    calls of a buyer scaled down to 20
 *     reputation  = Σ weight × review / Σ weight
 *     fees        = fees received of the seller's sales × Σ weight / what all its sales brought
 *     seen        = net / (net + $0.10)
 *     known       = min(seen, elsewhere / (elsewhere + $0.10))                 elsewhere = spent − paid
 *     lone        = Σ (seen − known)
 *     buyers      = Σ known + lone / (1 + lone)
 *     volume      = 0.2 × buyers / (buyers + 0.4) + 0.8 × √fees / (√fees + √$1,400)
 *
 * New accounts and play money are free, so what they prove is bounded: buyers alone give at most a fifth of the volume,
 * which is less than silver needs, and those that buy nowhere else together count as less than one. The rest is
 * money that the operator has, and no number of accounts makes more of it: as `weight` is never more than what was paid,
 * `fees` are never more than the fees received, and half of the scale takes $504 of them.
 *
 * A refund that the seller has owed for too long adds 1 to the 0.4, and √$1,400 to the √$1,400, until it is paid.
 *
 * Earnings count twice, because members of a ring that trade at random do not earn exactly what they spend; if earnings
 * counted once, half of the members would count as buyers of the difference.
 */

export interface Purchases {
  listingId: string;
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

export interface Sales {
  buyers: Buyer[];
  /** What the trades of these buyers, and of the seller's own party among them, brought. */
  sold: number;
  /** The fees of its sales that the operator has, play money apart. */
  feesReceived: number;
  /** The number of refunds that it has owed for too long. */
  unpaidRefunds?: number;
}

export interface Score {
  /** Shares are from 0 to 1. */
  score: number;
  reliability: number;
  accuracy: number;
  reputation: number;
  volume: number;
  /** How many buyers they count as. */
  buyers: number;
}

const FULL_SPENDING_MICROS = 1_000_000_000;
const LONE_DISCOUNT = 0.9;
const HALF_SEEN_MICROS = 100_000;
const BUYERS_PART = 0.2;
const HALF_BUYERS = 0.4;
/** At half of the part of the fees; together with all of the buyers' part, half of the scale takes $504. */
const HALF_FEES_MICROS = 1_400_000_000;
const CALLS_PER_BUYER = 20;
const UNREVIEWED = 0.75;

/** @param isCounted which purchases count; by default all. */
export function scoreOf(
  { buyers: parties, sold, feesReceived, unpaidRefunds = 0 }: Sales,
  isCounted: (purchases: Purchases) => boolean = () => true,
): Score {
  const contributions = [...parties]
    .sort((a, b) => (a.party < b.party ? -1 : 1))
    .map((buyer) => contributionOf(buyer, buyer.purchases.filter(isCounted)));
  const total = (of: (each: Contribution) => number): number => sum(contributions, of);
  const weights = total(({ weight }) => weight);
  const reliability = shareOf(
    total((each) => each.weight * each.delivered),
    total((each) => each.weight * each.calls),
  );
  const accuracy = shareOf(
    total((each) => each.weight * each.accuracy),
    weights,
  );
  const reputation = shareOf(
    total((each) => each.weight * each.review),
    weights,
  );
  const lone = total(({ seen, known }) => seen - known);
  const buyers = total(({ known }) => known) + lone / (1 + lone);
  const fees = Math.sqrt(feesReceived * Math.min(1, shareOf(weights, sold)));
  const volume =
    BUYERS_PART * (buyers / (buyers + HALF_BUYERS + unpaidRefunds)) +
    (1 - BUYERS_PART) * (fees / (fees + Math.sqrt(HALF_FEES_MICROS) * (1 + unpaidRefunds)));
  return { score: reliability * reputation * volume, reliability, accuracy, reputation, volume, buyers };
}

type Contribution = ReturnType<typeof contributionOf>;

function contributionOf({ spent, earned, purchases: all }: Buyer, purchases: Purchases[]) {
  const total = (column: 'delivered' | 'failed' | 'paid' | 'reviews' | 'accuracySum' | 'ratingSum'): number =>
    sum(purchases, (bought) => bought[column]);
  const net = total('paid') * Math.max(0, 1 - (2 * earned) / Math.max(1, spent));
  const paid = sum(all, (bought) => bought.paid);
  const share = Math.min(1, shareOf(paid, spent));
  const seen = seenBy(net);
  const calls = Math.min(CALLS_PER_BUYER, total('delivered') + total('failed'));
  return {
    weight: Math.min(FULL_SPENDING_MICROS, net * (1 - LONE_DISCOUNT * share)),
    seen,
    known: Math.min(seen, seenBy(Math.max(0, spent - paid))),
    calls,
    delivered: calls * shareOf(total('delivered'), total('delivered') + total('failed')),
    accuracy: total('reviews') === 0 ? UNREVIEWED : (total('accuracySum') / total('reviews') - 1) / 4,
    review: total('reviews') === 0 ? UNREVIEWED : (total('ratingSum') / (3 * total('reviews')) - 1) / 4,
  };
}

const seenBy = (micros: number): number => micros / (micros + HALF_SEEN_MICROS);
const shareOf = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);
export const sum = <T>(items: T[], of: (item: T) => number): number =>
  items.reduce((total, item) => total + of(item), 0);
