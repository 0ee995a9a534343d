import {
  createListing,
  createListingChallenge,
  getListing,
  getListingCards,
  getOffering,
  getSellerQuality,
  listCategories,
  removeListing,
  searchListings,
  suggestSlugs,
  updateListing,
} from './listings.js';
import { operationsOf } from '../operations.js';
import { findListings, holdListing, inspectListing } from './operators.js';

export * from './listings.js';
export * from './operators.js';

export const catalogContract = {
  listCategories,
  searchListings,
  getListing,
  getSellerQuality,
  suggestSlugs,
  createListingChallenge,
  createListing,
  updateListing,
  removeListing,
  getListingCards,
  getOffering,
  findListings,
  inspectListing,
  holdListing,
  ...operationsOf('catalog'),
};
