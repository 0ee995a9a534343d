import type { InputOf, OutputOf } from '@market/contracts';
import { searchListings } from '@market/contracts/catalog';
import { HandleRequest, principalOf, type RequestContext } from '@market/messaging';
import { Injectable } from '@nestjs/common';
import { ListingSearch } from '../search/listing-search.js';

/** Returns a page of listings that match every filter: active listings, or the caller's own in every state. */
@Injectable()
export class SearchListings {
  constructor(private readonly search: ListingSearch) {}

  @HandleRequest(searchListings)
  execute(
    { q, mine = false, sellerId, page, limit, ...filters }: InputOf<typeof searchListings>,
    context: RequestContext,
  ): Promise<OutputOf<typeof searchListings>> {
    return this.search.find({
      ...filters,
      sellerId: mine ? principalOf(context).accountId : sellerId,
      inEveryState: mine,
      text: q?.trim() || undefined,
      offset: (page - 1) * limit,
      limit,
    });
  }
}
