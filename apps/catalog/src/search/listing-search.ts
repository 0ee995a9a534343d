import type { InputOf } from '@market/contracts';
import type { searchListings } from '@market/contracts/catalog';

/** A listing must match all given filters; price bounds are inclusive. */
export interface WantedListings extends Omit<InputOf<typeof searchListings>, 'q' | 'mine' | 'page' | 'limit'> {
  /** The search text as entered: words, "quoted phrases", `or`, and `-` for exclusion. */
  text?: string;
  /** Includes listings in every state instead of active ones only. */
  inEveryState?: boolean;
  offset: number;
  limit: number;
}

export interface FoundListings {
  /** A JSON array of `listingView`. */
  itemsJson: string;
  total: number;
  /** Whether `total` is an estimate. Totals up to 10,000 are always exact. */
  totalIsEstimate: boolean;
}

/** Searches the listings. A result includes everything that was committed before the search started. */
export abstract class ListingSearch {
  abstract find(wanted: WantedListings): Promise<FoundListings>;

  /** Returns slugs of active listings that are similar to the given slug, most similar first. */
  abstract slugsLike(slug: string): Promise<string[]>;
}
