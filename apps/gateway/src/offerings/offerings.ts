import { getOffering, listingTouched, type Offering } from '@market/contracts/catalog';
import { HandleSignal, isRefusal, MessageBus, type Call } from '@market/messaging';
import { ShortCache } from '@market/runtime';
import { Injectable } from '@nestjs/common';

/** What the catalog sells, by uuid or slug: at most a second old, and dropped at once when a listing changes. */
@Injectable()
export class Offerings {
  private readonly cache = new ShortCache<Offering | null>({ ttlMs: 1_000, maxEntries: 10_000 });

  constructor(private readonly bus: MessageBus) {}

  find(ref: string, call: Call): Promise<Offering | null> {
    return this.cache.get(ref, async () => {
      try {
        return await this.bus.request(getOffering, { ref }, call);
      } catch (error) {
        if (isRefusal(error, getOffering, 'listing_not_found')) return null;
        throw error;
      }
    });
  }

  @HandleSignal(listingTouched)
  drop({ listingId, slugs }: { listingId: string; slugs: string[] }): void {
    [listingId, ...slugs].forEach((ref) => this.cache.drop(ref));
  }
}
