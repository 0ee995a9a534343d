import type { InputOf, OutputOf } from '@market/contracts';
import { updateListing } from '@market/contracts/catalog';
import { microsFromUsdNumber } from '@market/kernel';
import { principalOf, refuse, type RequestContext } from '@market/messaging';
import { Database } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { Categories } from '../categories/categories.js';
import { Endpoints } from '../endpoints/endpoints.js';
import { stateOf, TRANSITIONS, type ListingState } from './listing-state.js';
import { schemaProblem } from './listing-schemas.js';
import { textProblem } from './listing-text.js';
import { GetListing } from './get-listing.query.js';
import { ListingsRepository, type ListingFacts, type ListingFields } from './listings.repository.js';
import { ListingChanges } from './listing-changes.js';

type Input = InputOf<typeof updateListing>;

/**
 * Applies a change by the owner. The rules are checked before the gateway is asked for an endpoint, and again on the locked
 * row, because the listing may have changed meanwhile.
 */
@Injectable()
export class UpdateListing {
  constructor(
    private readonly database: Database,
    private readonly listings: ListingsRepository,
    private readonly changes: ListingChanges,
    private readonly categories: Categories,
    private readonly endpoints: Endpoints,
    private readonly getListing: GetListing,
  ) {}

  async execute(input: Input, context: RequestContext): Promise<OutputOf<typeof updateListing>> {
    const { accountId } = principalOf(context);
    decide(await this.listings.find(this.database, input.listing_id), input, accountId);
    if (input.category_id && !(await this.categories.has(input.category_id)))
      throw refuse(updateListing, 'category_not_found', {});
    const url = input.private_endpoint_url;
    const endpoint =
      url === undefined
        ? undefined
        : await this.endpoints.provision({ listingId: input.listing_id, sellerId: accountId, url }, context);
    return this.database.transaction(async (tx) => {
      const { listing, changes, state } = decide(await this.listings.lock(tx, input.listing_id), input, accountId);
      await this.changes.apply(tx, listing, changes, state, context);
      if (endpoint) await this.endpoints.keep(tx, listing.id, endpoint);
      const detail = (await this.getListing.findIn(tx, listing.id, accountId))!;
      return {
        ...detail,
        ...(endpoint?.signingSecret !== undefined && { gateway_signing_secret: endpoint.signingSecret }),
      };
    });
  }
}

/** @throws Refusal of `updateListing` if the owner, the state, the texts or the price do not allow the change. */
function decide(
  listing: ListingFacts | undefined,
  input: Input,
  accountId: string,
): { listing: ListingFacts; changes: Partial<ListingFields>; state: ListingState } {
  const { listing_id: _id, status, private_endpoint_url, pricing_amount, ...fields } = input;
  if (!listing) throw refuse(updateListing, 'listing_not_found', {});
  if (listing.provider_id !== accountId)
    throw refuse(updateListing, listing.status === 'active' ? 'not_owner' : 'listing_not_found', {});
  const state = TRANSITIONS[stateOf(listing)][status === undefined ? 'edit' : (`set_${status}` as const)];
  if (typeof state === 'object') {
    throw state.denied === 'locked'
      ? refuse(updateListing, 'listing_suspended', { suspended_by: listing.suspended_by! })
      : refuse(updateListing, 'suspended_by_owner', {});
  }
  const text = textProblem({ name: fields.name, description: fields.description });
  if (text) throw refuse(updateListing, 'text_invalid', text);
  const { output_schema, input_schema = listing.input_schema, example_input = listing.example_input } = fields;
  const schema = schemaProblem({ input_schema, example_input, output_schema });
  if (schema) throw refuse(updateListing, 'schema_invalid', schema);
  const model = fields.pricing_model ?? listing.pricing_model;
  // A listing that becomes free gets the price 0 unless the change names one.
  const unsaid = fields.pricing_model === 'free' ? '0' : listing.price_micros;
  const price_micros = pricing_amount === undefined ? unsaid : microsFromUsdNumber(pricing_amount)!.toString();
  if (model === 'free' && price_micros !== '0')
    throw refuse(updateListing, 'pricing_invalid', { problem: 'pricing_amount must be 0 on free listings' });
  if (model !== 'per_call' && private_endpoint_url !== undefined)
    throw refuse(updateListing, 'private_endpoint_unexpected', {});
  if (model === 'per_call' && listing.pricing_model !== 'per_call' && private_endpoint_url === undefined)
    throw refuse(updateListing, 'private_endpoint_required', {});
  return { listing, changes: { ...fields, price_micros }, state };
}
