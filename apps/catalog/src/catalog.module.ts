import { Module } from '@nestjs/common';
import { CategoriesModule } from './categories/categories.module.js';
import { ChallengesModule } from './challenges/challenges.module.js';
import { EndpointsModule } from './endpoints/endpoints.module.js';
import { ListingsModule } from './listings/listings.module.js';
import { PopularityModule } from './popularity/popularity.module.js';
import { ProvidersModule } from './providers/providers.module.js';
import { QualityModule } from './quality/quality.module.js';
import { RatingsModule } from './ratings/ratings.module.js';

@Module({
  imports: [
    CategoriesModule,
    ProvidersModule,
    ChallengesModule,
    ListingsModule,
    EndpointsModule,
    PopularityModule,
    QualityModule,
    RatingsModule,
  ],
})
export class CatalogModule {}
