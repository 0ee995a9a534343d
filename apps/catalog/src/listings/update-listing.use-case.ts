import type { InputOf, OutputOf } from '@market/contracts';
import { updateListing } from '@market/contracts/catalog';
import { principalOf, refuse, type Call } from '@market/messaging';
import { Database } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { Endpoints } from '../endpoints/endpoints.js';
import { stateOf, TRANSITIONS, type ListingState } from './domain/listing-state.js';
import { textProblem } from './domain/listing-text.js';
import { pricingProblem } from './domain/pricing.js';
import { GetListing } from './get-listing.query.js';
import { ListingsRepository, type ListingFacts } from './infra/listings.repository.js';
import { ListingChanges, type Change } from './listing-changes.js';

type Input = InputOf<typeof updateListing>;

/**
 * A change by the owner. Rules are checked before the gateway is asked for an endpoint, and again on the locked row,
 * since the listing may have changed meanwhile. Queries: 1 and a transaction of 5; 1 more with private_endpoint_url.
 */
@Injectable()
export class UpdateListing {
  constructor(
    private readonly database: Database,
    private readonly listings: ListingsRepository,
    private readonly changes: ListingChanges,
    private readonly endpoints: Endpoints,
    private readonly getListing: GetListing,
  ) {}

  async execute(input: Input, call: Call): Promise<OutputOf<typeof updateListing>> {
    const { accountId } = principalOf(call);
    decide(await this.listings.find(this.database, input.listingId), input, accountId);
    const url = input.privateEndpointUrl;
    const endpoint = url === undefined ? undefined : await this.endpoints.provision({ listingId: input.listingId, sellerId: accountId, url }, call);
    return this.database.transaction(async (tx) => {
      const { listing, change, state } = decide(await this.listings.lock(tx, input.listingId), input, accountId);
      await this.changes.apply(tx, listing, change, state, call);
      if (endpoint) await this.endpoints.keep(tx, listing.id, endpoint);
      const detail = (await this.getListing.find(tx, listing.id, accountId))!;
      return { ...detail, ...(endpoint?.signingSecret !== undefined && { gateway_signing_secret: endpoint.signingSecret }) };
    });
  }
}

/** @throws Refusal of `updateListing` where the owner, the state, the texts or the price do not allow the change. */
function decide(listing: ListingFacts | undefined, input: Input, accountId: string): { listing: ListingFacts; change: Change; state: ListingState } {
  if (!listing) throw refuse(updateListing, 'listing_not_found', {});
  if (listing.providerId !== accountId) throw refuse(updateListing, listing.status === 'active' ? 'not_owner' : 'listing_not_found', {});
  const outcome = TRANSITIONS[stateOf(listing)][input.status === undefined ? 'edit' : (`set_${input.status}` as const)];
  if (typeof outcome === 'object') {
    throw outcome.denied === 'locked' ? refuse(updateListing, 'listing_suspended', { suspended_by: listing.suspendedBy! }) : refuse(updateListing, 'suspended_by_owner', {});
  }
  const text = textProblem({ name: input.name, description: input.description, tags: input.tags });
  if (text) throw refuse(updateListing, 'text_invalid', text);
  return { listing, change: { ...given(input), ...priceOf(listing, input) }, state: outcome };
}

function given({ name, description, tags }: Input): Change {
  return { ...(name !== undefined && { name }), ...(description !== undefined && { description }), ...(tags && { tags }) };
}

/** A listing made free without a word on its price costs nothing; made per_call it needs an endpoint to call. */
function priceOf(listing: ListingFacts, input: Input): Pick<Change, 'pricingModel' | 'priceMicros'> {
  const pricingModel = input.pricingModel ?? listing.pricingModel;
  const amount = input.pricingAmountMicros ?? (input.pricingModel === 'free' ? 0 : listing.priceMicros);
  const priceMicros = BigInt(amount);
  const problem = pricingProblem({ model: pricingModel, amountMicros: priceMicros, currency: listing.pricingCurrency });
  if (problem) throw refuse(updateListing, 'pricing_invalid', { problem });
  if (pricingModel !== 'per_call' && input.privateEndpointUrl !== undefined) throw refuse(updateListing, 'private_endpoint_unexpected', {});
  if (pricingModel === 'per_call' && listing.pricingModel !== 'per_call' && input.privateEndpointUrl === undefined) throw refuse(updateListing, 'private_endpoint_required', {});
  return { pricingModel, priceMicros };
}
