import { createListing, createListingChallenge, getListing, getOffering, listCategories, removeListing, searchListings, updateListing } from './listings.js';

export * from './listings.js';

export const catalogContract = { listCategories, searchListings, getListing, createListingChallenge, createListing, updateListing, removeListing, getOffering };
