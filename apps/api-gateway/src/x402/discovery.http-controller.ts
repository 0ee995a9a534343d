import { listingsOf, searchListings, type ListingView } from '@market/contracts/catalog';
import { findJobSeconds } from '@market/contracts/gateway';
import { findPaidSeller } from '@market/contracts/identity';
import { quoteExact, type ExactTerms } from '@market/contracts/payments-ledger';
import { MessageBus, type RequestContext } from '@market/messaging';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { Controller, Get, Inject, Query, Req, Res } from '@nestjs/common';
import { ApiExcludeEndpoint, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../http/access.js';
import { paginationOf } from '../http/envelope.js';
import { sendCacheable } from '../http/public-cache.js';
import { cutParam, integerParam, readQuery, textParam, type QueryOf } from '../http/query.js';
import { cursorOf, listingCursorParam, pageEndOf, type PageEnd } from '../listings/listing-cursor.js';
import { jsonSchemaOf, objectSchema, type JsonSchema } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import {
  bazaarResource,
  EXTENSIONS,
  RESOURCE_TYPES,
  resourceUrl,
  toResource,
  type BazaarResource,
} from './bazaar-resource.js';
import { resourceExample } from './discovery.examples.js';
import { microsOf } from './micros.js';

const NEWEST = 'newest' as const;
const POPULAR = 'popular' as const;
const MAX_OFFSET = 1_000_000_000;
const WELL_KNOWN = 100;

const filters = {
  type: textParam(64, `How they are called: ${RESOURCE_TYPES.join(' or ')}; without it http.`),
  payTo: textParam(128),
  scheme: textParam(64),
  network: textParam(128, 'CAIP-2.'),
  extensions: textParam(256, 'Names that a resource must have, comma separated.'),
};
const limit = cutParam(1, 100, 20);
const cursor = {
  ...listingCursorParam,
  description: 'pagination.next_cursor of the page before: listings that come or go between do not shift the next.',
};
const resourcesQuery = { ...filters, limit, offset: integerParam(0, MAX_OFFSET, 0), cursor };
const searchQuery = {
  query: textParam(1_000, 'As q of GET /listings; all where it is left out.'),
  ...filters,
  limit,
  cursor,
};
const wellKnownQuery = { type: filters.type, limit: cutParam(1, WELL_KNOWN, WELL_KNOWN), cursor };
type Filters = QueryOf<typeof filters>;

const integer: JsonSchema = { type: 'integer' };
const version: JsonSchema = { type: 'integer', const: 2 };
const resources: JsonSchema = { type: 'array', items: jsonSchemaOf(bazaarResource) };
const nextCursor: JsonSchema = {
  type: 'string',
  description: 'For the parameter cursor of the next page; absent on the last page.',
};

/** Lists the listings that are paid per call, in the format of x402 Bazaar clients. */
@ApiTags('Discovery')
@Controller()
export class DiscoveryHttpController {
  private readonly base: string;

  constructor(
    private readonly bus: MessageBus,
    @Inject(platformConfig.token) { publicUrl }: ConfigOf<typeof platformConfig>,
  ) {
    this.base = publicUrl;
  }

  @Get('discovery/resources')
  @Public()
  @Operation({
    summary: 'List what can be paid with x402',
    description:
      "Active listings that are paid per call, newest first, in the shape of a facilitator's list: an x402 client " +
      'that takes /api/v1 for its facilitator finds them. Each is called and paid there without an API key. ' +
      'lastUpdated is when the listing was last changed. With type=mcp each is shown as the tool of its own MCP server.',
    asks: [searchListings, findJobSeconds, quoteExact, findPaidSeller],
    query: resourcesQuery,
    cacheable: true,
    answer: {
      schema: objectSchema({
        x402Version: version,
        items: resources,
        pagination: {
          ...objectSchema(
            {
              page: integer,
              limit: integer,
              offset: integer,
              total: integer,
              totalPages: integer,
              next_cursor: nextCursor,
            },
            ['next_cursor'],
          ),
          description: 'With total_is_estimate: true as GET /listings has it.',
        },
      }),
      example: {
        x402Version: 2,
        items: [resourceExample],
        pagination: { ...paginationOf(1, { page: 1, limit: 20 }), offset: 0 },
      },
    },
  })
  async listResources(
    @Query() raw: object,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const { limit, cursor, ...asked } = readQuery(resourcesQuery, raw);
    const after = pageEndOf(cursor, NEWEST);
    const { offset, ...filters } = after ? { ...asked, offset: 0 } : asked;
    const found = await this.find({ sort: NEWEST }, filters, { offset, limit, after }, request.context);
    return sendCacheable(request, reply, {
      x402Version: 2,
      items: found.items,
      pagination: {
        ...paginationOf(found.total, { page: pageAt(offset, limit), limit }, found.totalIsEstimate),
        offset,
        ...nextOf(NEWEST, found.next),
      },
    });
  }

  @Get('discovery/search')
  @Public()
  @Operation({
    summary: 'Search what can be paid with x402',
    description:
      'As /discovery/resources, by relevance, or without query those that most subscribe to and call first. ' +
      'cursor is null on the last page.',
    asks: [searchListings, findJobSeconds, quoteExact, findPaidSeller],
    query: searchQuery,
    cacheable: true,
    answer: {
      schema: objectSchema({
        x402Version: version,
        resources,
        partialResults: { type: 'boolean', const: false },
        pagination: objectSchema(
          {
            ...{ page: integer, limit: integer, total: integer, totalPages: integer },
            cursor: { type: ['string', 'null'] },
            next_cursor: nextCursor,
            total_is_estimate: { type: 'boolean', const: true },
          },
          ['next_cursor', 'total_is_estimate'],
        ),
      }),
      example: {
        x402Version: 2,
        resources: [resourceExample],
        partialResults: false,
        pagination: { ...paginationOf(1, { page: 1, limit: 20 }), cursor: null },
      },
    },
  })
  async searchResources(
    @Query() raw: object,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const { query, limit, cursor, ...filters } = readQuery(searchQuery, raw);
    const search = query?.trim() ? ({ q: query, sort: 'relevance' } as const) : { sort: POPULAR };
    const after = pageEndOf(cursor, search.sort);
    const found = await this.find(search, filters, { offset: 0, limit, after }, request.context);
    const next = nextOf(search.sort, found.next);
    return sendCacheable(request, reply, {
      x402Version: 2,
      resources: found.items,
      partialResults: false,
      pagination: {
        ...paginationOf(found.total, { page: 1, limit }, found.totalIsEstimate),
        cursor: next.next_cursor ?? null,
        ...next,
      },
    });
  }

  /** For crawlers, which read only addresses: the most popular listings first. */
  @Get('.well-known/x402')
  @Public()
  @ApiExcludeEndpoint()
  async getWellKnown(
    @Query() raw: object,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const { type: asked, limit, cursor } = readQuery(wellKnownQuery, raw);
    const type = typeOf(asked);
    const wanted = { ...PAID_PER_CALL, sort: POPULAR, after: pageEndOf(cursor, POPULAR), page: 1, limit };
    const found = type && (await this.bus.request(searchListings, wanted, request.context));
    return sendCacheable(request, reply, {
      version: 1,
      resources: found ? listingsOf(found).map((listing) => resourceUrl(this.base, listing, type)) : [],
      ...(found && nextOf(POPULAR, found.next)),
    });
  }

  private async find(
    search: { q?: string; sort: 'newest' | 'popular' | 'relevance' },
    filters: Filters,
    { offset, limit, after }: { offset: number; limit: number; after?: PageEnd },
    context: RequestContext,
  ): Promise<{ items: BazaarResource[]; total: number; totalIsEstimate: boolean; next: PageEnd | null }> {
    const type = typeOf(filters.type);
    const payable = type && (await this.payableBy(filters, context));
    if (payable === undefined) return { items: [], total: 0, totalIsEstimate: false, next: null };
    const wanted = { ...PAID_PER_CALL, ...search, ...payable, after };
    const skipped = offset % limit;
    const page = (offset - skipped) / limit + 1;
    const pages = await Promise.all(
      (skipped === 0 ? [page] : [page, page + 1]).map((number) =>
        this.bus.request(searchListings, { ...wanted, page: number, limit }, context),
      ),
    );
    const listings = pages.flatMap(listingsOf).slice(skipped, skipped + limit);
    const terms = listings.length === 0 ? [] : await this.termsOf(listings, context);
    const items = listings.map((listing, index) => toResource(this.base, listing, terms[index] ?? [], type!));
    const { total, totalIsEstimate, next } = pages.at(-1)!;
    // A cursor is the end of a page, and so is that of every page but one from within.
    return { items, total, totalIsEstimate, next: skipped === 0 ? next : null };
  }

  /** What a client would sign for each listing, as its 402 asks for it. */
  private async termsOf(listings: ListingView[], context: RequestContext): Promise<ExactTerms[][]> {
    const asked = listings.map(({ id, delivery_type, usage, formats }) => ({
      listingId: id,
      deliveryType: delivery_type,
      usage,
      formats,
    }));
    const { jobSeconds } = await this.bus.request(findJobSeconds, { listings: asked }, context);
    const calls = listings.map(({ provider_id, pricing_amount, usage }, index) => ({
      sellerId: provider_id,
      priceMicros: microsOf(pricing_amount),
      jobSeconds: jobSeconds[index] ?? undefined,
      isByUse: usage !== null,
    }));
    return (await this.bus.request(quoteExact, { calls }, context)).terms;
  }

  /**
   * Translates filters by payment terms to search filters. Terms differ only in amount and seller's wallet, so a
   * minimum price and a seller are sufficient.
   * @returns undefined if no listing can match.
   */
  private async payableBy(
    { extensions, payTo, scheme, network }: Filters,
    context: RequestContext,
  ): Promise<{ minPriceMicros?: string; sellerId?: string; byUse?: true } | undefined> {
    if (extensions?.split(',').some((name) => !EXTENSIONS.some((known) => known === name.trim()))) return undefined;
    if (payTo === undefined && scheme === undefined && network === undefined) return {};
    const { minimumMicros, ...taken } = await this.bus.request(quoteExact, { calls: [] }, context);
    const networks = { exact: taken.networks, upto: taken.uptoNetworks }[scheme ?? 'exact'];
    if (!networks?.some((known) => (network ?? known) === known)) return undefined;
    const payable = { minPriceMicros: minimumMicros, ...(scheme === 'upto' && { byUse: true as const }) };
    if (payTo === undefined) return payable;
    if (taken.payTo !== null) return payTo.toLowerCase() === taken.payTo.toLowerCase() ? payable : undefined;
    const { sellerId } = await this.bus.request(findPaidSeller, { address: payTo }, context);
    return sellerId === null ? undefined : { ...payable, sellerId };
  }
}

const typeOf = (asked: string = RESOURCE_TYPES[0]) => RESOURCE_TYPES.find((known) => known === asked);
const nextOf = (sort: string, next: PageEnd | null) => (next ? { next_cursor: cursorOf(sort, next) } : {});
const pageAt = (offset: number, limit: number): number => Math.floor(offset / limit) + 1;

/** Free calls are excluded, because they need no payment. */
const PAID_PER_CALL = { pricingModel: 'per_call', minPriceMicros: '1' } as const;
