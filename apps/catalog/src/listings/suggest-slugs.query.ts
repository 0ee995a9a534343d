import type { InputOf, OutputOf } from '@market/contracts';
import { suggestSlugs } from '@market/contracts/catalog';
import { HandleRequest } from '@market/messaging';
import { Injectable } from '@nestjs/common';
import { ListingSearch } from '../search/listing-search.js';
import { isSlug } from './slug.js';

/** Suggests slugs on the connection pool of searches. */
@Injectable()
export class SuggestSlugs {
  constructor(private readonly search: ListingSearch) {}

  @HandleRequest(suggestSlugs)
  async execute({ slug }: InputOf<typeof suggestSlugs>): Promise<OutputOf<typeof suggestSlugs>> {
    return { slugs: isSlug(slug) ? await this.search.slugsLike(slug) : [] };
  }
}
