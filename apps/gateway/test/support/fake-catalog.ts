import { topology } from '@market/contracts';
import { getOffering, listingTouched, type Offering } from '@market/contracts/catalog';
import { MessageBus, refuse, type Transport } from '@market/messaging';
import { connectFake } from '@market/testing';

/** The catalog as far as the gateway asks it: what is sold under a uuid or a slug. */
export interface FakeCatalog {
  bus: MessageBus;
  /** Sells from now on; a change is signalled as the catalog signals it. */
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
