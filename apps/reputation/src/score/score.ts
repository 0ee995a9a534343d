/**
 * The score of an agent: a pure function of what was measured. It reads no clock and no database, so that the same facts
 * give the same score, whoever computes it, in whatever order they came. `SCORE_VERSION` grows with every change of it.
 *
 * ## What is counted
 *
 * A **party** is all accounts that one human claimed or that share a wallet. Whatever its accounts do, a party is one
 * buyer, and what it buys of itself does not count. A buyer's weight is
 *
 *     weight  = activity × max(credibility, allowance)
 *     activity    = log2(1 + paid / $0.01) / log2(101), at most 1: one dollar paid says all that one buyer can say
 *     credibility = diversity × stake × tenure, and 0 for a buyer whose money only circulates
 *     allowance   = 0.125 / (20 + Σ activity of all buyers it is given to)
 *
 * A name costs nothing here, so no function of trades alone tells a thousand buyers from one with a thousand names
 * (Douceur, The Sybil Attack, 2002; Cheng and Friedman, Sybilproof reputation mechanisms, 2005). What cannot be had for
 * nothing is standing elsewhere: a buyer is credible by what it pays to sellers that have nothing to do with this one.
 *
 *     independence of a seller t, as seen from seller s = (revenue(t) − 3 × paid to t by the buyers of s) / (revenue(t) + $50), at least 0;
 *                                                         0 where t buys of s or sells to it
 *     diversity = d / (1 + d), d = Σ independence of the sellers the buyer pays besides s
 *     stake     = log10(Σ independence × paid / $0.10) / 3, within 0 and 1: full at $100
 *     tenure    = 0, ⅓, ⅔, 1 from the first to the latest purchase of a day, a week, a month
 *
 * In a ring nobody pays outside of it: every seller's custom is its neighbours', all independence is 0, and so is every
 * weight. A ring whose members buy and sell has another mark: a buyer counts only while it spends at least twice what it
 * earned from parties that do not do so themselves, so that money that goes round says nothing, however thinly the ring
 * is knit. Buyers that were never seen elsewhere, one or a million, share the allowance of an eighth of one buyer, which
 * is worth at most 25 points. What is left to a cheat is to build a market of its own: many parties that trade thinly
 * with each other for a month, and the marketplace's fee on all of it.
 *
 * ## What it adds up to
 *
 *     n            = Σ weight
 *     reliability  = (1 + Σ weight × calls × share delivered) / (2 + Σ weight × calls), calls of a buyer at most 20
 *     accuracy     = (1 + Σ weight × accuracy rating) / (2 + Σ weight of those who rated), ratings as 0 to 1
 *     reputation   = the same over the mean of all three ratings
 *     volume       = log2(1 + n) / log2(101), at most 1
 *     longevity    = log2(1 + days from the first to the latest sale) / log2(366), at most 1
 *     market_score = 1000 × n / (n + 5) × (0.20 reliability + 0.35 accuracy + 0.15 volume + 0.10 longevity + 0.20 reputation)
 *
 * reliability is Laplace's rule of succession, with accuracy and reputation the mean of a Beta distribution that starts at
 * Beta(1, 1) (Jøsang and Ismail, The Beta Reputation System, 2002): who has little evidence is in the middle. What buyers
 * say of the answers weighs more than that there were answers, which junk would be too. n / (n + 5) is the
 * credibility factor of Bühlmann (Experience Rating and Credibility, 1967): a score is earned by evidence. One buyer's
 * calls and reviews are one voice each, so that neither a machine gun of calls nor a crowd of reviews by fresh agents
 * moves it. A category's score is the same over the sales of its listings.
 *
 * Times of proofs of work are shown and no part of the score: who has the faster machine is not the better seller.
 */
export const SCORE_VERSION = 1;

const CENT = 10_000n;
const DOLLAR = 1_000_000n;
const DAY_MS = 86_400_000;

/** Of one party, all its accounts together, without what they traded among themselves. Money in micros. */
export interface PartyTotals {
  spent: bigint;
  earned: bigint;
  /** Of the largest customers: what they paid, and how much of it came from those that are not net payers. */
  sampledEarnings: { all: bigint; circulating: bigint };
  firstPurchaseAt: Date | null;
  lastPurchaseAt: Date | null;
}

/** What a party's trades say of it as a buyer. It changes seldom, so that its partners' scores are seldom out of date. */
export interface Standing {
  /** Puts in at least twice the money it takes out. */
  isNetPayer: boolean;
  /** Spends at least twice what reached it from parties that are no net payers. */
  isFunded: boolean;
  /** 0 to 3: less than a day, a day, a week, a month from the first to the latest purchase. */
  tenure: number;
}

export const UNKNOWN_STANDING: Standing = { isNetPayer: false, isFunded: false, tenure: 0 };

const TENURES_DAYS = [1, 7, 30];

export function standingOf({ spent, earned, sampledEarnings: { all, circulating }, firstPurchaseAt, lastPurchaseAt }: PartyTotals): Standing {
  const circulatingEarnings = all === 0n ? 0n : (earned * circulating) / all;
  const days = firstPurchaseAt && lastPurchaseAt ? daysBetween(firstPurchaseAt, lastPurchaseAt) : 0;
  return {
    isNetPayer: spent > 0n && spent >= 2n * earned,
    isFunded: spent > 0n && spent >= 2n * circulatingEarnings,
    tenure: TENURES_DAYS.filter((least) => days >= least).length,
  };
}

/** What a buyer must have paid a seller before others take notice of it. */
export const NOTABLE_MICROS = 10n * CENT;

/** Three leading binary digits: an amount as others see it, which changes only when it grew by a fifth or so. */
export const roundedDown = (micros: bigint): bigint => micros - (micros % stepOf(micros));
export const roundedUp = (micros: bigint): bigint => roundedDown(micros + stepOf(micros) - 1n);
const stepOf = (micros: bigint): bigint => 1n << BigInt(Math.max(0, micros.toString(2).length - 3));

/** What a buyer paid to a seller other than the one in question. Amounts as others see them: paid rounded up, revenue rounded down. */
export interface Tie {
  seller: string;
  paid: bigint;
  revenue: bigint;
  /** The other seller buys of the one in question, or sells to it. */
  isKin: boolean;
}

export interface Ratings {
  accuracy: number;
  reliability: number;
  value: number;
}

/** What one account bought of one listing. */
export interface Trade {
  categoryId: string | null;
  delivered: number;
  failed: number;
  paid: bigint;
  firstAt: Date;
  lastAt: Date;
  ratings: Ratings | null;
}

/** One party that bought of the agent. */
export interface Buyer extends Pick<Standing, 'isFunded' | 'tenure'> {
  party: string;
  trades: Trade[];
  elsewhere: Tie[];
}

/** Everything that happened to one listing; exact, whoever did it. */
export interface ListingTotals {
  category: { id: string; name: string; slug: string } | null;
  delivered: number;
  failed: number;
  subscriptions: number;
  reviews: number;
  /** Over all reviews, all three ratings. */
  ratingSum: number;
}

export interface Evidence {
  listings: ListingTotals[];
  /** Without the agent's own party. */
  buyers: Buyer[];
  /** How long the latest proofs of work took. */
  solveMs: number[];
  lastActiveAt: Date | null;
}

export interface CategoryScore {
  category_id: string;
  category: { name: string; slug: string };
  score: number;
  transaction_count: number;
  avg_review_rating: number | null;
  success_rate: number | null;
}

/** What is kept of a score; what depends on the time of reading is added by `asOf`. */
export interface Score {
  is_scored: boolean;
  market_score: number;
  provisional: { reason: 'no_transactions' | 'few_transactions' | 'few_independent_buyers'; transactions: number; required: number } | null;
  components: { reliability: number; accuracy: number; volume: number; longevity: number; reputation: number };
  categories: CategoryScore[];
  capability: { avg_pow_solve_ms: number | null; best_pow_solve_ms: number | null };
  total_events: number;
  total_transactions: number;
  last_active_at: string | null;
}

const REQUIRED_TRANSACTIONS = 10;
const REQUIRED_BUYERS = 3;

export function scoreOf({ listings, buyers, solveMs, lastActiveAt }: Evidence): Score {
  const witnesses = witnessesOf(buyers);
  const overall = assess(witnesses);
  const transactions = sum(listings, ({ delivered, subscriptions }) => delivered + subscriptions);
  const events = transactions + sum(listings, ({ failed, reviews }) => failed + reviews);
  return {
    is_scored: events > 0,
    market_score: overall.score,
    provisional: provisionalOf(transactions, overall.buyers),
    components: events > 0 ? overall.components : { reliability: 0, accuracy: 0, volume: 0, longevity: 0, reputation: 0 },
    categories: categoriesOf(listings, witnesses),
    capability: capabilityOf(solveMs),
    total_events: events,
    total_transactions: transactions,
    last_active_at: lastActiveAt?.toISOString() ?? null,
  };
}

function provisionalOf(transactions: number, buyers: number): Score['provisional'] {
  const because = (reason: NonNullable<Score['provisional']>['reason']): Score['provisional'] => ({ reason, transactions, required: REQUIRED_TRANSACTIONS });
  if (transactions === 0) return because('no_transactions');
  if (transactions < REQUIRED_TRANSACTIONS) return because('few_transactions');
  return buyers < REQUIRED_BUYERS ? because('few_independent_buyers') : null;
}

/** A buyer with what it is worth as a witness. */
interface Witness {
  credibility: number;
  hasAllowance: boolean;
  trades: Trade[];
}

const OVERLAP_PENALTY = 3;
const REVENUE_PRIOR = Number(50n * DOLLAR);
const STAKE_DECADES = 3;
const TENURE_FACTORS = [0, 1 / 3, 2 / 3, 1];

function witnessesOf(buyers: Buyer[]): Witness[] {
  const inOrder = [...buyers].sort((a, b) => (a.party < b.party ? -1 : 1));
  const paidByBuyers = new Map<string, number>();
  for (const { elsewhere } of inOrder) for (const { seller, paid } of elsewhere) paidByBuyers.set(seller, (paidByBuyers.get(seller) ?? 0) + Number(paid));
  return inOrder.map(({ isFunded, tenure, trades, elsewhere }) => {
    const independent = [...elsewhere]
      .sort((a, b) => (a.seller < b.seller ? -1 : 1))
      .map(({ seller, paid, revenue, isKin }) => ({ paid: Number(paid), independence: isKin ? 0 : clamp((Number(revenue) - OVERLAP_PENALTY * paidByBuyers.get(seller)!) / (Number(revenue) + REVENUE_PRIOR)) }));
    const d = sum(independent, ({ independence }) => independence);
    const stake = sum(independent, ({ independence, paid }) => independence * paid);
    const credibility = isFunded && d > 0 ? (d / (1 + d)) * clamp(Math.log10(stake / Number(NOTABLE_MICROS)) / STAKE_DECADES) * TENURE_FACTORS[tenure]! : 0;
    return { credibility, hasAllowance: isFunded && (elsewhere.length === 0 || d > 0), trades };
  });
}

interface Assessment {
  /** Effective number of independent buyers. */
  buyers: number;
  score: number;
  components: Score['components'];
}

const ALLOWANCE = 0.125;
const ALLOWANCE_HALF = 20;
const CALLS_PER_BUYER = 20;
const CREDIBILITY_HALF = 5;
const FULL_BUYERS = 100;
const FULL_DAYS = 365;

function assess(witnesses: Witness[]): Assessment {
  const active = witnesses.map((witness) => ({ ...witness, activity: logShare(Number(witness.trades.reduce((paid, trade) => paid + trade.paid, 0n)) / Number(CENT), 100) })).filter(({ activity }) => activity > 0);
  const allowance = ALLOWANCE / (ALLOWANCE_HALF + sum(active.filter(({ hasAllowance }) => hasAllowance), ({ activity }) => activity));
  let buyers = 0;
  const calls = new Mean();
  const accuracy = new Mean();
  const reputation = new Mean();
  let firstAt = Infinity;
  let lastAt = -Infinity;
  for (const { credibility, hasAllowance, activity, trades } of active) {
    const weight = activity * Math.max(credibility, hasAllowance ? allowance : 0);
    if (weight === 0) continue;
    buyers += weight;
    const delivered = sum(trades, (trade) => trade.delivered);
    const attempted = delivered + sum(trades, (trade) => trade.failed);
    if (attempted > 0) calls.add(delivered / attempted, weight * Math.min(attempted, CALLS_PER_BUYER));
    const ratings = trades.flatMap((trade) => trade.ratings ?? []);
    if (ratings.length > 0) {
      accuracy.add(sum(ratings, (rating) => shareOf(rating.accuracy)) / ratings.length, weight);
      reputation.add(sum(ratings, (rating) => shareOf((rating.accuracy + rating.reliability + rating.value) / 3)) / ratings.length, weight);
    }
    firstAt = Math.min(firstAt, ...trades.map((trade) => trade.firstAt.getTime()));
    lastAt = Math.max(lastAt, ...trades.map((trade) => trade.lastAt.getTime()));
  }
  const shares = {
    reliability: calls.value,
    accuracy: accuracy.value,
    volume: logShare(buyers, FULL_BUYERS),
    longevity: buyers > 0 ? logShare((lastAt - firstAt) / DAY_MS, FULL_DAYS) : 0,
    reputation: reputation.value,
  };
  const quality = 0.2 * shares.reliability + 0.35 * shares.accuracy + 0.15 * shares.volume + 0.1 * shares.longevity + 0.2 * shares.reputation;
  return {
    buyers,
    score: onScale((buyers / (buyers + CREDIBILITY_HALF)) * quality),
    components: { reliability: onScale(shares.reliability), accuracy: onScale(shares.accuracy), volume: onScale(shares.volume), longevity: onScale(shares.longevity), reputation: onScale(shares.reputation) },
  };
}

/** A weighted mean that starts at one half, as if two had spoken. */
class Mean {
  private total = 1;
  private weight = 2;

  add(share: number, weight: number): void {
    this.total += share * weight;
    this.weight += weight;
  }

  get value(): number {
    return this.total / this.weight;
  }
}

function categoriesOf(listings: ListingTotals[], witnesses: Witness[]): CategoryScore[] {
  const categories = new Map(listings.flatMap(({ category }) => (category ? [[category.id, category] as const] : [])));
  return [...categories.values()]
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .map(({ id, name, slug }) => {
      const inIt = listings.filter(({ category }) => category?.id === id);
      const delivered = sum(inIt, (listing) => listing.delivered);
      const attempted = delivered + sum(inIt, (listing) => listing.failed);
      const reviews = sum(inIt, (listing) => listing.reviews);
      return {
        category_id: id,
        category: { name, slug },
        score: assess(witnesses.map((witness) => ({ ...witness, trades: witness.trades.filter(({ categoryId }) => categoryId === id) }))).score,
        transaction_count: delivered + sum(inIt, (listing) => listing.subscriptions),
        avg_review_rating: reviews === 0 ? null : round(sum(inIt, (listing) => listing.ratingSum) / (3 * reviews), 2),
        success_rate: attempted === 0 ? null : round(delivered / attempted, 4),
      };
    });
}

/** Tukey's fences (Exploratory Data Analysis, 1977) cut what is no measure of a machine: a challenge put aside for minutes, or one that was being solved before it was measured. */
function capabilityOf(solveMs: number[]): Score['capability'] {
  if (solveMs.length === 0) return { avg_pow_solve_ms: null, best_pow_solve_ms: null };
  const sorted = [...solveMs].sort((a, b) => a - b);
  const quartile = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))]!;
  const reach = 1.5 * (quartile(0.75) - quartile(0.25));
  const usual = sorted.filter((ms) => ms >= quartile(0.25) - reach && ms <= quartile(0.75) + reach);
  return { avg_pow_solve_ms: Math.round(sum(usual, (ms) => ms) / usual.length), best_pow_solve_ms: usual[0]! };
}

const FRESH_DAYS = 7;
const STALE_DAYS = 30;
const INACTIVE_DAYS = 90;
const HALF_LIFE_DAYS = 180;

/** What of a score depends on when it is read. */
export interface ScoreNow {
  status: 'unscored' | 'scored' | 'inactive';
  market_score: number;
  score_tier: 'unrated' | 'bronze' | 'silver' | 'gold' | 'platinum';
  categories: CategoryScore[];
  freshness: 'fresh' | 'aging' | 'stale';
}

/** After 30 days without a sign of its agent a score halves every 180 days; after 90 its agent is inactive. */
export function asOf({ is_scored, market_score, categories, last_active_at }: Score, now: Date): ScoreNow {
  const idleDays = last_active_at === null ? Infinity : daysBetween(new Date(last_active_at), now);
  const decay = idleDays > STALE_DAYS ? 2 ** -((idleDays - STALE_DAYS) / HALF_LIFE_DAYS) : 1;
  const decayed = round(market_score * decay, 1);
  return {
    status: !is_scored ? 'unscored' : idleDays >= INACTIVE_DAYS ? 'inactive' : 'scored',
    market_score: decayed,
    score_tier: is_scored ? tierOf(decayed) : 'unrated',
    categories: categories.map((category) => ({ ...category, score: round(category.score * decay, 1) })),
    freshness: idleDays < FRESH_DAYS ? 'fresh' : idleDays < STALE_DAYS ? 'aging' : 'stale',
  };
}

function tierOf(score: number): ScoreNow['score_tier'] {
  if (score < 250) return 'bronze';
  if (score < 500) return 'silver';
  return score < 750 ? 'gold' : 'platinum';
}

const daysBetween = (from: Date, to: Date): number => (to.getTime() - from.getTime()) / DAY_MS;
const sum = <T>(items: T[], of: (item: T) => number): number => items.reduce((total, item) => total + of(item), 0);
const clamp = (share: number): number => Math.min(1, Math.max(0, share));
const shareOf = (rating: number): number => (rating - 1) / 4;
/** 0 for nothing, 1 from `full` on, in between on a logarithmic scale. */
const logShare = (amount: number, full: number): number => clamp(Math.log2(1 + amount) / Math.log2(1 + full));
const round = (value: number, decimals: number): number => Math.round(value * 10 ** decimals) / 10 ** decimals;
const onScale = (share: number): number => round(1000 * share, 1);
