import type { ListingTotals } from '../score/agent-score.js';
import { scoreOf, type Sales } from '../score/score.js';

const PARTS_OF_VOLUME = 1_000_000;
const PURCHASES = 1_000;

/**
 * How popular each listing is, from 0 to 10⁹: the volume of a score over the sales of that listing alone, in millionths,
 * so that what is free to fake weighs as little here as there. The last three digits are purchases, of which free ones
 * are some as well; they order only what is equal otherwise.
 */
export const popularityOf = (
  listings: Pick<ListingTotals, 'listingId' | 'delivered' | 'subscriptions'>[],
  { buyers, sold, feesReceived }: Sales,
): { listing_id: string; popularity: number }[] =>
  listings.map(({ listingId, delivered, subscriptions }) => {
    const { volume } = scoreOf({ buyers, sold, feesReceived }, (purchases) => purchases.listingId === listingId);
    const purchases = Math.min(PURCHASES - 1, delivered + subscriptions);
    return { listing_id: listingId, popularity: Math.round(volume * PARTS_OF_VOLUME) * PURCHASES + purchases };
  });
