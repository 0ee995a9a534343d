import type { InputOf, OutputOf } from '@market/contracts';
import { findListings, holdListing, inspectListing } from '@market/contracts/catalog';
import { HandleRequest, operatorOf, refuse, type RequestContext } from '@market/messaging';
import { Controller } from '@nestjs/common';
import { HoldListing } from './hold-listing.use-case.js';
import { InspectListings } from './inspect-listings.query.js';
import { columnsOf } from './listing-state.js';

@Controller()
export class OperatorsMessageController {
  constructor(
    private readonly inspectListings: InspectListings,
    private readonly holdListingUseCase: HoldListing,
  ) {}

  @HandleRequest(findListings)
  findListings({ query }: InputOf<typeof findListings>, context: RequestContext) {
    operatorOf(context);
    return this.inspectListings.find(query);
  }

  @HandleRequest(inspectListing)
  async inspectListing({ ref }: InputOf<typeof inspectListing>, context: RequestContext) {
    operatorOf(context);
    const listing = await this.inspectListings.one(ref);
    if (!listing) throw refuse(inspectListing, 'listing_not_found', {});
    return listing;
  }

  @HandleRequest(holdListing)
  async holdListing(
    { ref, action, reason }: InputOf<typeof holdListing>,
    context: RequestContext,
  ): Promise<OutputOf<typeof holdListing>> {
    const moved = await this.holdListingUseCase.execute(action, { ref, operator: operatorOf(context), reason });
    if (!moved) throw refuse(holdListing, 'listing_not_found', {});
    const { id, name, from, to } = moved;
    const { status, suspended_by } = columnsOf(to);
    return { id, name, status, suspended_by, changed: from !== to };
  }
}
