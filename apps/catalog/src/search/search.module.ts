import { Module } from '@nestjs/common';
import { ListingSearch } from './listing-search.js';

@Module({ providers: [ListingSearch], exports: [ListingSearch] })
export class SearchModule {}
