import { getOffering, listingTouched, type Offering } from '@market/contracts/catalog';
import { HandleSignal, isRefusal, MessageBus, type Call } from '@market/messaging';
import { lookupCache } from '@market/runtime';
import { Injectable } from '@nestjs/common';

/** What the catalog sells, by uuid or slug: at most a second old, and dropped at once when a listing changes. */
@Injectable()
export class Offerings {
  /** `false` for what there is not. */
  private readonly cache = lookupCache<Offering | false, Call>(1_000, (ref, call) => this.load(ref, call));

  constructor(private readonly bus: MessageBus) {}

  async find(ref: string, call: Call): Promise<Offering | null> {
    return (await this.cache.forceFetch(ref, { context: call })) || null;
  }

  @HandleSignal(listingTouched)
  drop({ listingId, slugs }: { listingId: string; slugs: string[] }): void {
    [listingId, ...slugs].forEach((ref) => this.cache.delete(ref));
  }

  private async load(ref: string, call: Call): Promise<Offering | false> {
    try {
      return await this.bus.request(getOffering, { ref }, call);
    } catch (error) {
      if (isRefusal(error, getOffering, 'listing_not_found')) return false;
      throw error;
    }
  }
}
