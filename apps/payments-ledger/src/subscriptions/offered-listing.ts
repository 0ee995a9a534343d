import { getOffering, type CallableOffering, type Offering } from '@market/contracts/catalog';
import { subscribe } from '@market/contracts/payments-ledger';
import { isRefusal, MessageBus, refuse, type RequestContext } from '@market/messaging';
import { Injectable } from '@nestjs/common';
import type { PaidModel } from '../payments/payment.js';

/** A listing that can be subscribed to. */
export interface SubscribableListing extends Offering, Pick<CallableOffering, 'includedCalls' | 'includedUnits'> {
  pricingModel: 'free' | PaidModel;
}

/** Reads the current offering of a listing from the catalog, with one bus request for each call. */
@Injectable()
export class OfferedListing {
  constructor(private readonly bus: MessageBus) {}

  /** @throws Refusal `listing_not_found`, `own_listing`, `listing_per_call`. */
  async find(listingId: string, buyerId: string, context: RequestContext): Promise<SubscribableListing> {
    const offering = await this.ask(listingId, context);
    if (offering?.sellerId === buyerId) throw refuse(subscribe, 'own_listing', {});
    if (offering?.status !== 'active') throw refuse(subscribe, 'listing_not_found', {});
    const { pricingModel } = offering;
    if (pricingModel === 'per_call')
      throw refuse(subscribe, 'listing_per_call', { replacement: `POST /gateway/${offering.slug}` });
    return { ...offering, pricingModel };
  }

  async isActive(listingId: string, context: RequestContext): Promise<boolean> {
    return (await this.ask(listingId, context))?.status === 'active';
  }

  /** Whether a paid subscription may start. It also may while the seller sells nothing because it owes too much. */
  async isDelivered(listingId: string, context: RequestContext): Promise<boolean> {
    const offering = await this.ask(listingId, context);
    return offering?.status === 'active' || offering?.isSuspendedForDebt === true;
  }

  private async ask(listingId: string, context: RequestContext): Promise<CallableOffering | undefined> {
    try {
      return await this.bus.request(getOffering, { ref: listingId }, context);
    } catch (error) {
      if (isRefusal(error, getOffering, 'listing_not_found')) return undefined;
      throw error;
    }
  }
}
