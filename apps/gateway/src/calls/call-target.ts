import type { CallableOffering, Offering } from '@market/contracts/catalog';
import { executeCall } from '@market/contracts/gateway';
import type { InputOf } from '@market/contracts';
import { isUuid } from '@market/kernel';
import { principalOf, Refusal, refuse, type RequestContext } from '@market/messaging';
import { Injectable } from '@nestjs/common';
import { CallableEndpoints, type CallableEndpoint } from '../endpoints/callable-endpoints.js';
import { takesCalls } from '../endpoints/endpoint.js';
import { Offerings } from '../offerings/offerings.js';
import { CallRecords } from './call-records.js';

export type CallInput = InputOf<typeof executeCall>;

/**
 * The listing that is called. While the catalog is unavailable only its id is known, which is enough to return a stored
 * result.
 */
export interface CallTarget {
  listingId: string;
  offering: CallableOffering | null;
  /** The refusal of the catalog, if it was unavailable. */
  outage: Refusal | null;
}

@Injectable()
export class CallTargets {
  constructor(
    private readonly offerings: Offerings,
    private readonly endpoints: CallableEndpoints,
    private readonly records: CallRecords,
  ) {}

  async find(input: CallInput, context: RequestContext): Promise<CallTarget> {
    const { listingRef, relayRequestId } = input;
    try {
      const offering = await this.offerings.find(listingRef, context);
      return { offering, listingId: offering?.listingId ?? listingIdOf(input), outage: null };
    } catch (error) {
      if (!(error instanceof Refusal) || error.declaration.kind !== 'unavailable') throw error;
      const listingId = isUuid(listingRef)
        ? listingIdOf(input)
        : relayRequestId &&
          (await this.records.findListing(principalOf(context).accountId, relayRequestId, listingRef));
      if (!listingId) throw error;
      return { offering: null, listingId, outage: error };
    }
  }

  /** The endpoint of a listing that is sold. @throws Refusal `endpoint_unavailable`. */
  async endpointOf({ listingId }: Offering): Promise<CallableEndpoint> {
    const target = await this.endpoints.find(listingId);
    if (target && takesCalls(target.endpoint)) return target;
    throw refuse(executeCall, 'endpoint_unavailable', { endpoint_status: target?.endpoint.status ?? 'removed' });
  }
}

/** @throws Refusal unless calls of the listing are sold or, to a buyer, included, and to this buyer if one is given. */
export function assertSold(offering: CallableOffering | null, buyerId?: string): asserts offering is CallableOffering {
  const isOwn = buyerId !== undefined && offering?.sellerId === buyerId;
  if (!offering || (offering.status !== 'active' && !isOwn)) throw refuse(executeCall, 'listing_not_found', {});
  const isIncluded = buyerId !== undefined && (offering.includedCalls ?? offering.includedUnits ?? null) !== null;
  if (offering.pricingModel !== 'per_call' && !isIncluded) throw refuse(executeCall, 'listing_not_per_call', {});
  if (isOwn) throw refuse(executeCall, 'own_listing', {});
}

/** The fields of a listing that the ledger and the history store with a sale. */
export const soldListingOf = ({ listingId, name, slug, sellerId, preferredCurrency }: Offering) => ({
  listingId,
  name,
  slug,
  sellerId,
  preferredCurrency,
});

/** Payments and stored answers outlive their listing. The id of a removed listing may still identify them. */
function listingIdOf({ listingRef }: CallInput): string {
  if (isUuid(listingRef)) return listingRef.toLowerCase();
  throw refuse(executeCall, 'listing_not_found', {});
}
