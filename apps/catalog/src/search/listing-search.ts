import type { InputOf } from '@market/contracts';
import type { searchListings } from '@market/contracts/catalog';

/** All that is given must hold; prices are inclusive. */
export interface WantedListings extends Omit<InputOf<typeof searchListings>, 'q' | 'mine' | 'page' | 'limit'> {
  /** As people type it: words, "phrases", or, and a minus for not. */
  text?: string;
  /** In every state, and not the active ones alone. */
  inEveryState?: boolean;
  offset: number;
  limit: number;
}

export interface FoundListings {
  /** An array of `listingView`, as text. */
  itemsJson: string;
  total: number;
  /** Whether `total` is PostgreSQL's estimate; up to 10,000 it never is. */
  totalIsEstimate: boolean;
}

/** Which listings are wanted, and in which order; an answer knows everything that was committed before it was asked for. */
export abstract class ListingSearch {
  abstract find(wanted: WantedListings): Promise<FoundListings>;

  /** Slugs of active listings that resemble this one, the most alike first. */
  abstract slugsLike(slug: string): Promise<string[]>;
}
