import type { InputOf, OutputOf } from '@market/contracts';
import { updateListing } from '@market/contracts/catalog';
import { microsFromUsdNumber } from '@market/kernel';
import { HandleRequest, principalOf, refuse, type RequestContext } from '@market/messaging';
import { Database, Idempotency } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { isDeepStrictEqual } from 'node:util';
import { Categories } from '../categories/categories.js';
import { Endpoints } from '../endpoints/endpoints.js';
import { PayableSellers } from '../providers/payable-sellers.js';
import { stateOf, TRANSITIONS, type ListingState } from './listing-state.js';
import { assertSchemas } from './listing-schemas.js';
import { textProblem } from './listing-text.js';
import { GetListing } from './get-listing.query.js';
import { hasPeriods, isCalled, pricingProblem } from './pricing.js';
import { ListingsRepository, type ListingFacts, type ListingFields } from './listings.repository.js';
import { ListingChanges } from './listing-changes.js';

type Input = InputOf<typeof updateListing>;

/**
 * Applies a change by the owner. The rules are checked before the gateway is asked for an endpoint, and again on the locked
 * row, because the listing may have changed meanwhile. Schemas are not checked under the lock, since that can take long: if
 * the stored ones have changed meanwhile, the lock is released and they are checked again.
 */
@Injectable()
export class UpdateListing {
  constructor(
    private readonly database: Database,
    private readonly idempotency: Idempotency,
    private readonly listings: ListingsRepository,
    private readonly changes: ListingChanges,
    private readonly categories: Categories,
    private readonly endpoints: Endpoints,
    private readonly payable: PayableSellers,
    private readonly getListing: GetListing,
  ) {}

  @HandleRequest(updateListing)
  async execute(input: Input, context: RequestContext): Promise<OutputOf<typeof updateListing>> {
    const { accountId } = principalOf(context);
    const stored = await this.idempotency.replay(updateListing, context);
    if (stored) return stored;
    const decision = decide(await this.listings.find(this.database, input.listing_id), input, accountId);
    let { listing: checked } = decision;
    await assertSchemas(updateListing, accountId, input, checked);
    if (input.category_id && !(await this.categories.has(input.category_id)))
      throw refuse(updateListing, 'category_not_found', {});
    if (goesOnSale(decision)) {
      const networks = await this.payable.missingWallet(accountId, context);
      if (networks) throw refuse(updateListing, 'payout_wallet_missing', { networks });
    }
    const url = input.private_endpoint_url;
    const endpoint =
      url === undefined
        ? undefined
        : await this.endpoints.provision({ listingId: input.listing_id, sellerId: accountId, url }, context);
    for (;;) {
      try {
        return await this.idempotency.run(updateListing, context, async (tx) => {
          const { listing, changes, state } = decide(await this.listings.lock(tx, input.listing_id), input, accountId);
          if (!sameSchemas(listing, checked)) throw new SchemasChanged(listing);
          await this.changes.apply(tx, listing, changes, state, context);
          if (endpoint) await this.endpoints.keep(tx, listing.id, endpoint);
          return {
            ...(await this.getListing.findIn(tx, listing.id, accountId))!,
            ...(endpoint?.signingSecret !== undefined && { gateway_signing_secret: endpoint.signingSecret }),
          };
        });
      } catch (error) {
        if (!(error instanceof SchemasChanged)) throw error;
        checked = error.listing;
        await assertSchemas(updateListing, accountId, input, checked);
      }
    }
  }
}

/** Rolls the transaction back, because the schemas that were checked are not those that are stored. */
class SchemasChanged extends Error {
  constructor(readonly listing: ListingFacts) {
    super();
  }
}

/** Whether a change makes a listing active and paid that was not both. */
const goesOnSale = ({ listing, changes, state }: ReturnType<typeof decide>): boolean =>
  state === 'active' && changes.price_micros !== '0' && (listing.status !== 'active' || listing.price_micros === '0');

const sameSchemas = (a: ListingFacts, b: ListingFacts): boolean =>
  isDeepStrictEqual([a.input_schema, a.example_input], [b.input_schema, b.example_input]);

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
  const text = textProblem(fields);
  if (text) throw refuse(updateListing, 'text_invalid', text);
  const model = fields.pricing_model ?? listing.pricing_model;
  // A listing that becomes free gets the price 0 unless the change names one.
  const unsaid = fields.pricing_model === 'free' ? '0' : listing.price_micros;
  const price_micros = pricing_amount === undefined ? unsaid : microsFromUsdNumber(pricing_amount)!.toString();
  // So do the calls that the new price cannot include.
  const { included_calls = hasPeriods(model) ? listing.included_calls : null } = fields;
  const { included_units = model === 'usage_tiered' ? listing.included_units : null } = fields;
  const isTryable = price_micros !== '0' && isCalled({ pricing_model: model, included_calls, included_units });
  const { free_calls = isTryable ? listing.free_calls : null, usage = listing.usage } = fields;
  const priced = { pricing_model: model, price_micros, included_calls, included_units, free_calls, usage };
  const problem = pricingProblem(priced);
  if (problem) throw refuse(updateListing, 'pricing_invalid', { problem });
  if (!isCalled(priced) && private_endpoint_url !== undefined)
    throw refuse(updateListing, 'private_endpoint_unexpected', {});
  if (isCalled(priced) && !isCalled(listing) && private_endpoint_url === undefined)
    throw refuse(updateListing, 'private_endpoint_required', {});
  return { listing, changes: { ...fields, ...priced }, state };
}
