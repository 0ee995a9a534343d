import type { InputOf, OutputOf } from '@market/contracts';
import { searchListings } from '@market/contracts/catalog';
import { refuse } from '@market/messaging';
import { Injectable } from '@nestjs/common';
import { ListingSearch } from '../search/listing-search.js';
import { searchText } from '../search/search-text.js';
import { textProblem } from './domain/listing-text.js';

/** A page of active listings that meet every filter. Queries: those of the search. */
@Injectable()
export class SearchListings {
  constructor(private readonly search: ListingSearch) {}

  execute({ q, page, limit, ...filters }: InputOf<typeof searchListings>): Promise<OutputOf<typeof searchListings>> {
    const problem = textProblem({ q });
    if (problem) throw refuse(searchListings, 'text_invalid', problem);
    return this.search.find({ ...filters, text: searchText(q), offset: (page - 1) * limit, limit });
  }
}
