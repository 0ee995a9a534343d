import type { InputOf } from '@market/contracts';
import {
  createListing,
  getListing,
  getListingCards,
  getOffering,
  getSellerQuality,
  removeListing,
  searchListings,
  suggestSlugs,
  updateListing,
} from '@market/contracts/catalog';
import { HandleRequest, type RequestContext } from '@market/messaging';
import { Controller } from '@nestjs/common';
import { CreateListing } from './create-listing.use-case.js';
import { GetListing } from './get-listing.query.js';
import { GetListingCards } from './get-listing-cards.query.js';
import { GetOffering } from './get-offering.query.js';
import { GetSellerQuality } from './get-seller-quality.query.js';
import { RemoveListing } from './remove-listing.use-case.js';
import { SearchListings } from './search-listings.query.js';
import { SuggestSlugs } from './suggest-slugs.query.js';
import { UpdateListing } from './update-listing.use-case.js';

/** Answers requests about listings. */
@Controller()
export class ListingsMessageController {
  constructor(
    private readonly searchListingsQuery: SearchListings,
    private readonly getListingQuery: GetListing,
    private readonly getListingCardsQuery: GetListingCards,
    private readonly getOfferingQuery: GetOffering,
    private readonly getSellerQualityQuery: GetSellerQuality,
    private readonly suggestSlugsQuery: SuggestSlugs,
    private readonly createListingUseCase: CreateListing,
    private readonly updateListingUseCase: UpdateListing,
    private readonly removeListingUseCase: RemoveListing,
  ) {}

  @HandleRequest(searchListings)
  searchListings(input: InputOf<typeof searchListings>, context: RequestContext) {
    return this.searchListingsQuery.execute(input, context);
  }

  @HandleRequest(getListing)
  getListing(input: InputOf<typeof getListing>, context: RequestContext) {
    return this.getListingQuery.execute(input, context);
  }

  @HandleRequest(getListingCards)
  getListingCards(input: InputOf<typeof getListingCards>) {
    return this.getListingCardsQuery.execute(input);
  }

  @HandleRequest(getOffering)
  getOffering(input: InputOf<typeof getOffering>) {
    return this.getOfferingQuery.execute(input);
  }

  @HandleRequest(getSellerQuality)
  getSellerQuality(input: InputOf<typeof getSellerQuality>) {
    return this.getSellerQualityQuery.execute(input);
  }

  @HandleRequest(suggestSlugs)
  suggestSlugs(input: InputOf<typeof suggestSlugs>) {
    return this.suggestSlugsQuery.execute(input);
  }

  @HandleRequest(createListing)
  createListing(input: InputOf<typeof createListing>, context: RequestContext) {
    return this.createListingUseCase.execute(input, context);
  }

  @HandleRequest(updateListing)
  updateListing(input: InputOf<typeof updateListing>, context: RequestContext) {
    return this.updateListingUseCase.execute(input, context);
  }

  @HandleRequest(removeListing)
  removeListing(input: InputOf<typeof removeListing>, context: RequestContext) {
    return this.removeListingUseCase.execute(input, context);
  }
}
