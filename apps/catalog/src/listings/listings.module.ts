import { Module } from '@nestjs/common';
import { CategoriesModule } from '../categories/categories.module.js';
import { ChallengesModule } from '../challenges/challenges.module.js';
import { EndpointsModule } from '../endpoints/endpoints.module.js';
import { ProvidersModule } from '../providers/providers.module.js';
import { QualityModule } from '../quality/quality.module.js';
import { SearchModule } from '../search/search.module.js';
import { CreateListing } from './create-listing.use-case.js';
import { EndpointHealthEventController } from './endpoint-health.event-controller.js';
import { GetListingCards } from './get-listing-cards.query.js';
import { GetListing } from './get-listing.query.js';
import { GetOffering } from './get-offering.query.js';
import { GetSellerQuality } from './get-seller-quality.query.js';
import { HoldListing } from './hold-listing.use-case.js';
import { ListingsRepository } from './listings.repository.js';
import { InspectListings } from './inspect-listings.query.js';
import { ListingChanges } from './listing-changes.js';
import { SuspendOrResumeListings } from './suspend-or-resume-listings.js';
import { RemoveListing } from './remove-listing.use-case.js';
import { ReviewPayable } from './review-payable.job.js';
import { SearchListings } from './search-listings.query.js';
import { SellerStandingEventController } from './seller-standing.event-controller.js';
import { SuggestSlugs } from './suggest-slugs.query.js';
import { SuspendFailing } from './suspend-failing.job.js';
import { UpdateListing } from './update-listing.use-case.js';

@Module({
  imports: [CategoriesModule, ChallengesModule, EndpointsModule, ProvidersModule, QualityModule, SearchModule],
  controllers: [EndpointHealthEventController, SellerStandingEventController],
  providers: [
    SearchListings,
    GetListing,
    GetListingCards,
    GetOffering,
    GetSellerQuality,
    SuggestSlugs,
    CreateListing,
    UpdateListing,
    RemoveListing,
    HoldListing,
    InspectListings,
    SuspendFailing,
    ReviewPayable,
    SuspendOrResumeListings,
    ListingChanges,
    ListingsRepository,
  ],
})
export class ListingsModule {}
