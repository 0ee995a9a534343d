import { getListing, listingsOf, searchListings, updateListing } from '@market/contracts/catalog';
import { testEndpoint } from '@market/contracts/gateway';
import { checkPayable, listPaymentRoutes, quoteExact } from '@market/contracts/payments-ledger';
import { MessageBus, principalOf, Refusal, refuse, type RequestContext } from '@market/messaging';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { Body, Controller, Inject, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { RequireScope } from '../http/access.js';
import { bodyOf } from '../http/body.js';
import { CurrentContext } from '../http/current-context.decorator.js';
import { success } from '../http/envelope.js';
import { refOr } from '../http/values.js';
import { LISTING_REF } from '../openapi/example-values.js';
import { envelopeSchema, jsonSchemaOf } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { toResource } from '../x402/bazaar-resource.js';
import { resourceExample } from '../x402/discovery.examples.js';
import { microsOf } from '../x402/micros.js';
import { checksOf, validation, type Validation } from './validation.js';

const body = z.strictObject({
  listing: z.string().max(150).describe('The slug or uuid of an own listing, in any state.'),
  q: z.string().max(1_000).optional().describe('What a buyer would ask for; its name when left out.'),
  probe: z.boolean().default(true).describe('Whether its endpoint is sent a signed test call, of ten a minute.'),
});

const LOOKED_AT = 100;
const MAX_WORDS = 12;

const example: Validation = {
  listing: LISTING_REF,
  ok: true,
  checks: [{ name: 'state', status: 'ok', message: 'It is active', fix: null }],
  search: { q: 'wind forecast', rank: 1, total: 3, lacks: [] },
  discovery: resourceExample,
};

@ApiTags('Catalog')
@Controller('listings')
export class ValidateListingHttpController {
  private readonly base: string;

  constructor(
    private readonly bus: MessageBus,
    @Inject(platformConfig.token) { publicUrl }: ConfigOf<typeof platformConfig>,
  ) {
    this.base = publicUrl;
  }

  @Post('validate')
  @RequireScope('write', { owners: true, waitsForSeller: true })
  @Operation({
    summary: 'See an own listing as buyers and indexers do, and why it is not found',
    description:
      'Checks state, texts, schemas, payout wallet, the ways to pay of its 402, the endpoint (by a test call), quality, ' +
      'and its rank for q, and names what to do about each. Changes nothing but the result of the last test.',
    asks: [getListing, searchListings, checkPayable, quoteExact, listPaymentRoutes],
    body: { schema: body, examples: { question: { listing: LISTING_REF.slug, q: 'wind forecast' } } },
    answer: { schema: envelopeSchema(jsonSchemaOf(validation)), example: success(example) },
  })
  async validateListing(
    @Body(bodyOf(body)) { listing: ref, q, probe }: z.output<typeof body>,
    @CurrentContext() context: RequestContext,
  ) {
    const listing = await this.bus.request(
      getListing,
      { ref: refOr(ref, () => refuse(getListing, 'listing_not_found', {})) },
      context,
    );
    const sellerId = principalOf(context).accountId;
    if (listing.provider_id !== sellerId) throw refuse(updateListing, 'not_owner', {});
    const isPerCall = listing.pricing_model === 'per_call';
    const isPaid = isPerCall && listing.pricing_amount > 0;
    const priceMicros = microsOf(listing.pricing_amount);
    const [payable, quote, { routes }, test, search] = await Promise.all([
      this.bus.request(checkPayable, { sellerId }, context),
      this.bus.request(
        quoteExact,
        { calls: isPaid ? [{ sellerId, priceMicros, isByUse: listing.usage !== null }] : [] },
        context,
      ),
      this.bus.request(listPaymentRoutes, {}, context),
      listing.gateway_url !== undefined && probe && listing.endpoint_status !== 'paused'
        ? this.test(listing.id, context)
        : null,
      this.look(listing.id, q?.trim() || listing.name, context),
    ]);
    const terms = quote.terms[0] ?? [];
    // The test may have made the endpoint active or failing.
    const { quality } = test ? await this.bus.request(getListing, { ref: listing.id }, context) : listing;
    const missingWallet = payable.isPayable ? null : payable.missing;
    const checks = checksOf({ listing: { ...listing, quality }, missingWallet, terms, routes, test, search });
    return success({
      listing: { id: listing.id, name: listing.name, slug: listing.slug },
      ok: checks.every(({ status }) => status !== 'failed'),
      checks,
      search,
      discovery:
        isPaid && listing.status === 'active' ? toResource(this.base, { ...listing, quality }, terms, 'http') : null,
    });
  }

  /** Sends a test call; null if there were too many, or there is no endpoint. */
  private async test(listingId: string, context: RequestContext) {
    return this.bus.request(testEndpoint, { listing_id: listingId }, context).catch((error: unknown) => {
      if (error instanceof Refusal && (error.reason === 'too_many_tests' || error.reason === 'endpoint_not_found'))
        return null;
      throw error;
    });
  }

  /** Asks as a buyer would, and which words of the question the listing has in some form. */
  private async look(id: string, q: string, context: RequestContext): Promise<Validation['search']> {
    const isIn = (found: { itemsJson: string }): number => listingsOf(found).findIndex((each) => each.id === id);
    const { search: note, ...found } = await this.bus.request(
      searchListings,
      { q, page: 1, limit: LOOKED_AT },
      context,
    );
    const asked = [...new Set([...(note?.used ?? []), ...(note?.unmatched ?? [])])].slice(0, MAX_WORDS);
    const has = await Promise.all(
      asked.map(
        async (word) =>
          isIn(await this.bus.request(searchListings, { q: word, mine: true, page: 1, limit: LOOKED_AT }, context)) >=
          0,
      ),
    );
    const rank = isIn(found);
    return {
      q,
      rank: rank < 0 ? null : rank + 1,
      total: found.total,
      lacks: asked.filter((_word, index) => !has[index]),
      ...(note && { note }),
    };
  }
}
