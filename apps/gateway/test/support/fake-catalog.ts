import { topology } from '@market/contracts';
import { getOffering, listingTouched, type Offering } from '@market/contracts/catalog';
import { MessageBus, refuse, type Transport } from '@market/messaging';
import { connectFake } from '@market/testing';

/** A fake catalog that answers the gateway's requests for offerings by uuid or slug. */
export interface FakeCatalog {
  bus: MessageBus;
  /** Adds or changes an offering, and sends the signal of the catalog. */
  offer(offering: Offering): void;
  remove(offering: Offering): void;
  stop(): Promise<void>;
}

export async function startFakeCatalog(transport: Transport): Promise<FakeCatalog> {
  const byRef = new Map<string, Offering>();
  const link = await connectFake(transport, 'catalog', getOffering, ({ ref }) => {
    const offering = byRef.get(ref);
    if (!offering) throw refuse(getOffering, 'listing_not_found', {});
    return offering;
  });
  const bus = new MessageBus(link, topology.catalog);
  const touch = ({ listingId, slug }: Offering): void => bus.signal(listingTouched, { listingId, slugs: [slug] });
  return {
    bus,
    offer(offering) {
      byRef.set(offering.listingId, offering).set(offering.slug, offering);
      touch(offering);
    },
    remove(offering) {
      [offering.listingId, offering.slug].forEach((ref) => byRef.delete(ref));
      touch(offering);
    },
    stop: async () => void (await link.server.close()),
  };
}
