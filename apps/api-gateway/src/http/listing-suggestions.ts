import { suggestSlugs } from '@market/contracts/catalog';
import { isUuid } from '@market/kernel';
import type { MessageBus } from '@market/messaging';
import type { FastifyInstance } from 'fastify';
import type { ErrorBody } from './error-body.js';
import { isSlug } from './values.js';

/** Adds suggested slugs to the 404 for a listing, on every route that takes a slug. */
export function suggestListings(instance: FastifyInstance, bus: MessageBus): void {
  instance.addHook('onRoute', (route) => {
    if (!route.url.includes('/:listingId')) return;
    route.preSerialization = async (request, _reply, payload) => {
      const { error } = payload as Partial<ErrorBody>;
      const { listingId: slug } = request.params as { listingId: string };
      if (error?.details?.reason !== 'listing_not_found' || isUuid(slug) || !isSlug(slug)) return payload;
      // If the request fails, the 404 is sent without suggestions.
      const { slugs } = await bus
        .request(suggestSlugs, { slug }, request.context)
        .catch(() => ({ slugs: [] as string[] }));
      // If the slug exists, the operation accepts only ids, and a suggestion would be wrong.
      if (slugs.length > 0 && !slugs.includes(slug)) error.recovery!.did_you_mean = slugs;
      return payload;
    };
  });
}
