import { getOffering, listingTouched, type CallableOffering } from '@market/contracts/catalog';
import { HandleSignal, isRefusal, MessageBus, type RequestContext } from '@market/messaging';
import { lookupCache } from '@market/runtime';
import { Injectable } from '@nestjs/common';

/**
 * Caches offerings of the catalog, by uuid or slug, for at most a second. A change of a listing drops it immediately.
 */
@Injectable()
export class Offerings {
  /** `false` if there is no such listing. */
  private readonly cache = lookupCache<CallableOffering | false, RequestContext>(1_000, (ref, context) =>
    this.load(ref, context),
  );

  constructor(private readonly bus: MessageBus) {}

  async find(ref: string, context: RequestContext): Promise<CallableOffering | null> {
    return (await this.cache.forceFetch(ref, { context })) || null;
  }

  @HandleSignal(listingTouched)
  drop({ listingId, slugs }: { listingId: string; slugs: string[] }): void {
    [listingId, ...slugs].forEach((ref) => this.cache.delete(ref));
  }

  private async load(ref: string, context: RequestContext): Promise<CallableOffering | false> {
    try {
      return await this.bus.request(getOffering, { ref }, context);
    } catch (error) {
      if (isRefusal(error, getOffering, 'listing_not_found')) return false;
      throw error;
    }
  }
}
