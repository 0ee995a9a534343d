import {
  createListing,
  createListingChallenge,
  getListing,
  getListingCards,
  getOffering,
  listCategories,
  removeListing,
  searchListings,
  updateListing,
} from './listings.js';

export * from './listings.js';

export const catalogContract = {
  listCategories,
  searchListings,
  getListing,
  createListingChallenge,
  createListing,
  updateListing,
  removeListing,
  getListingCards,
  getOffering,
};
