import { topology, type InputOf, type OutputOf } from '@market/contracts';
import { getOffering, listingTouched, type Offering } from '@market/contracts/catalog';
import { HandleRequest, MessageBus, refuse, type Transport } from '@market/messaging';
import { Controller, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { MicroserviceOptions } from '@nestjs/microservices';

class Offers {
  readonly byRef = new Map<string, Offering>();
}

@Controller()
class OffersController {
  constructor(private readonly offers: Offers) {}

  @HandleRequest(getOffering)
  async getOffering({ ref }: InputOf<typeof getOffering>): Promise<OutputOf<typeof getOffering>> {
    const offering = this.offers.byRef.get(ref);
    if (!offering) throw refuse(getOffering, 'listing_not_found', {});
    return offering;
  }
}

/** The catalog as far as the gateway asks it: what is sold under a uuid or a slug. */
export interface FakeCatalog {
  bus: MessageBus;
  /** Sells from now on; a change is signalled as the catalog signals it. */
  offer(offering: Offering): void;
  remove(offering: Offering): void;
  stop(): Promise<void>;
}

export async function startFakeCatalog(transport: Transport): Promise<FakeCatalog> {
  const offers = new Offers();
  @Module({ controllers: [OffersController], providers: [{ provide: Offers, useValue: offers }] })
  class CatalogModule {}
  const link = await transport.connect('catalog', topology.catalog);
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(CatalogModule, {
    strategy: link.server,
    logger: false,
  });
  await app.listen();
  const bus = new MessageBus(link, topology.catalog);
  const touch = ({ listingId, slug }: Offering): void => bus.signal(listingTouched, { listingId, slugs: [slug] });
  return {
    bus,
    offer(offering) {
      offers.byRef.set(offering.listingId, offering).set(offering.slug, offering);
      touch(offering);
    },
    remove(offering) {
      [offering.listingId, offering.slug].forEach((ref) => offers.byRef.delete(ref));
      touch(offering);
    },
    stop: () => app.close(),
  };
}
