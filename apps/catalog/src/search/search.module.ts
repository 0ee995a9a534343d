import { Module } from '@nestjs/common';
import { ListingSearch } from './listing-search.js';
import { Meaning } from './meaning/meaning.js';

@Module({ providers: [ListingSearch, Meaning], exports: [ListingSearch] })
export class SearchModule {}
