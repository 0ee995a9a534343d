import { listingsOf, searchListings } from '@market/contracts/catalog';
import { findPaidSeller } from '@market/contracts/identity';
import { quoteExact } from '@market/contracts/payments-ledger';
import { parseDecimal } from '@market/kernel';
import { MessageBus, type RequestContext } from '@market/messaging';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { Controller, Get, Inject, Query, Req, Res } from '@nestjs/common';
import { ApiExcludeEndpoint, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../http/access.js';
import { sendCacheable } from '../http/public-cache.js';
import { cutParam, integerParam, readQuery, textParam, type QueryOf } from '../http/query.js';
import { jsonSchemaOf, objectSchema, type JsonSchema } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import {
  bazaarResource,
  callUrl,
  EXTENSIONS,
  RESOURCE_TYPE,
  SCHEME,
  toResource,
  type BazaarResource,
} from './bazaar-resource.js';
import { resourceExample } from './discovery.examples.js';

const MAX_OFFSET = 1_000_000_000;
const WELL_KNOWN = 100;

const filters = {
  type: textParam(64, `All are ${RESOURCE_TYPE}.`),
  payTo: textParam(128),
  scheme: textParam(64),
  network: textParam(128, 'CAIP-2.'),
  extensions: textParam(256, 'Names that a resource must have, comma separated.'),
};
const limit = cutParam(1, 100, 20);
const resourcesQuery = { ...filters, limit, offset: integerParam(0, MAX_OFFSET, 0) };
const searchQuery = {
  query: textParam(200, 'As q of GET /listings; all where it is left out.'),
  ...filters,
  limit,
  cursor: { ...integerParam(0, MAX_OFFSET, 0), description: 'pagination.cursor of the page before.' },
};
type Filters = QueryOf<typeof filters>;

const integer: JsonSchema = { type: 'integer' };
const version: JsonSchema = { type: 'integer', const: 2 };
const resources: JsonSchema = { type: 'array', items: jsonSchemaOf(bazaarResource) };

/** Lists the listings that are paid per call, in the format of x402 Bazaar clients. */
@ApiTags('Discovery')
@Controller()
export class DiscoveryHttpController {
  private readonly base: string;

  constructor(
    private readonly bus: MessageBus,
    @Inject(platformConfig.token) { publicUrl }: ConfigOf<typeof platformConfig>,
  ) {
    this.base = publicUrl.replace(/\/+$/, '');
  }

  @Get('discovery/resources')
  @Public()
  @Operation({
    summary: 'List what can be paid with x402',
    description:
      "Active listings that are paid per call, newest first, in the shape of a facilitator's list: an x402 client " +
      'that takes /api/v1 for its facilitator finds them. Each is called and paid there without an API key. ' +
      'lastUpdated is when the listing was made.',
    asks: [searchListings, quoteExact, findPaidSeller],
    query: resourcesQuery,
    cacheable: true,
    answer: {
      schema: objectSchema({
        x402Version: version,
        items: resources,
        pagination: {
          ...objectSchema({ limit: integer, offset: integer, total: integer }),
          description: 'With total_is_estimate: true as GET /listings has it.',
        },
      }),
      example: { x402Version: 2, items: [resourceExample], pagination: { limit: 20, offset: 0, total: 1 } },
    },
  })
  async listResources(
    @Query() raw: object,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const { limit, offset, ...filters } = readQuery(resourcesQuery, raw);
    const { items, total, totalIsEstimate } = await this.find(
      { sort: 'newest' },
      filters,
      offset,
      limit,
      request.context,
    );
    return sendCacheable(request, reply, {
      x402Version: 2,
      items,
      pagination: { limit, offset, total, ...(totalIsEstimate && { total_is_estimate: true }) },
    });
  }

  @Get('discovery/search')
  @Public()
  @Operation({
    summary: 'Search what can be paid with x402',
    description: `As /discovery/resources, those that most subscribe to and call first. cursor is null on the last page.`,
    asks: [searchListings, quoteExact, findPaidSeller],
    query: searchQuery,
    cacheable: true,
    answer: {
      schema: objectSchema({
        x402Version: version,
        resources,
        partialResults: { type: 'boolean', const: false },
        pagination: objectSchema({ limit: integer, cursor: { type: ['string', 'null'] } }),
      }),
      example: {
        x402Version: 2,
        resources: [resourceExample],
        partialResults: false,
        pagination: { limit: 20, cursor: null },
      },
    },
  })
  async searchResources(
    @Query() raw: object,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const { query, limit, cursor, ...filters } = readQuery(searchQuery, raw);
    const { items, total } = await this.find({ q: query, sort: 'popular' }, filters, cursor, limit, request.context);
    const next = cursor + limit;
    return sendCacheable(request, reply, {
      x402Version: 2,
      resources: items,
      partialResults: false,
      pagination: { limit, cursor: next < Math.min(total, MAX_OFFSET) ? String(next) : null },
    });
  }

  /** For crawlers, which read only addresses: the hundred most popular listings. */
  @Get('.well-known/x402')
  @Public()
  @ApiExcludeEndpoint()
  async getWellKnown(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    const found = await this.bus.request(
      searchListings,
      { ...PAID_PER_CALL, sort: 'popular', page: 1, limit: WELL_KNOWN },
      request.context,
    );
    return sendCacheable(request, reply, {
      version: 1,
      resources: listingsOf(found).map((listing) => callUrl(this.base, listing)),
    });
  }

  private async find(
    search: { q?: string; sort: 'newest' | 'popular' },
    filters: Filters,
    offset: number,
    limit: number,
    context: RequestContext,
  ): Promise<{ items: BazaarResource[]; total: number; totalIsEstimate: boolean }> {
    const payable = await this.payableBy(filters, context);
    if (payable === undefined) return { items: [], total: 0, totalIsEstimate: false };
    const wanted = { ...PAID_PER_CALL, ...search, ...payable };
    const skipped = offset % limit;
    const page = (offset - skipped) / limit + 1;
    const pages = await Promise.all(
      (skipped === 0 ? [page] : [page, page + 1]).map((number) =>
        this.bus.request(searchListings, { ...wanted, page: number, limit }, context),
      ),
    );
    const listings = pages.flatMap(listingsOf).slice(skipped, skipped + limit);
    const { terms } =
      listings.length === 0
        ? { terms: [] }
        : await this.bus.request(
            quoteExact,
            {
              calls: listings.map(({ provider_id, pricing_amount }) => ({
                sellerId: provider_id,
                priceMicros: microsOf(pricing_amount),
              })),
            },
            context,
          );
    const items = listings.map((listing, index) => toResource(this.base, listing, terms[index] ?? []));
    return { items, total: pages.at(-1)!.total, totalIsEstimate: pages.at(-1)!.totalIsEstimate };
  }

  /**
   * Translates filters by payment terms to search filters. Terms differ only in amount and seller's wallet, so a
   * minimum price and a seller are sufficient.
   * @returns undefined if no listing can match.
   */
  private async payableBy(
    { type, extensions, payTo, scheme, network }: Filters,
    context: RequestContext,
  ): Promise<{ minPriceMicros?: string; sellerId?: string } | undefined> {
    if (type !== undefined && type !== RESOURCE_TYPE) return undefined;
    if (extensions?.split(',').some((name) => !EXTENSIONS.some((known) => known === name.trim()))) return undefined;
    if (payTo === undefined && scheme === undefined && network === undefined) return {};
    const { minimumMicros: minPriceMicros, ...taken } = await this.bus.request(quoteExact, { calls: [] }, context);
    if ((scheme ?? SCHEME) !== SCHEME || !taken.networks.some((known) => (network ?? known) === known))
      return undefined;
    if (payTo === undefined) return { minPriceMicros };
    if (taken.payTo !== null) return payTo.toLowerCase() === taken.payTo.toLowerCase() ? { minPriceMicros } : undefined;
    const { sellerId } = await this.bus.request(findPaidSeller, { address: payTo }, context);
    return sellerId === null ? undefined : { minPriceMicros, sellerId };
  }
}

/** Free calls are excluded, because they need no payment. */
const PAID_PER_CALL = { pricingModel: 'per_call', minPriceMicros: '1' } as const;

/** @param usd as the catalog shows it: it has at most 6 decimals, which a number of this size represents exactly. */
const microsOf = (usd: number): string => parseDecimal(usd.toFixed(6), 6)!.toString();
