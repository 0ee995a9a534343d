import { deliveryType, pricingModel } from '@market/contracts';
import {
  categoryView,
  getListing,
  listCategories,
  listingDetail,
  listingFacets,
  listingOrder,
  listingView,
  searchListings,
  searchNote,
} from '@market/contracts/catalog';
import { getListingQuality } from '@market/contracts/gateway';
import { listPaymentRoutes, paymentRoute } from '@market/contracts/payments-ledger';
import { MessageBus, refuse, type RequestContext } from '@market/messaging';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { Controller, Get, Inject, Param, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { OptionalKey, Public } from '../http/access.js';
import { CurrentContext } from '../http/current-context.decorator.js';
import { edgeRefusals, unauthorized } from '../http/edge-refusals.js';
import { JSON_TYPE, pageOfJson, paginated, paginationOf, success } from '../http/envelope.js';
import { linkPages } from '../http/page-links.js';
import { sendCacheable, sendCacheableText } from '../http/public-cache.js';
import {
  choiceParam,
  choicesParam,
  flagParam,
  integerParam,
  pageParams,
  rateParam,
  readQuery,
  textParam,
  usdParam,
  uuidParam,
} from '../http/query.js';
import { refOr } from '../http/values.js';
import { envelopeSchema, jsonSchemaOf, pageSchema, type JsonSchema } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { ApiRefusals } from '../openapi/refusal-responses.js';
import { cursorOf, listingCursorParam, pageEndOf } from './listing-cursor.js';
import { categoryExample, dayQualityExample, listingDetailExample, listingExample } from './listings.examples.js';

const INCLUDED = ['facets', 'ways_to_pay'] as const;
const wayToPay = paymentRoute.pick({ currency: true, network: true, schemes: true, minimum_usd: true });
const searchQuery = {
  q: textParam(
    1_000,
    'Words, or a question, in any language: every word counts, none is required, and the more of them and the rarer, the ' +
      'higher a listing is. "A phrase" in quotes is required, and what follows a minus is excluded.',
  ),
  category: uuidParam("A category's id."),
  pricing_model: choiceParam(pricingModel.options),
  delivery_type: choiceParam(deliveryType.options),
  min_price: usdParam('US dollars, inclusive.'),
  max_price: usdParam('US dollars, inclusive.'),
  max_price_usd: usdParam('The same as max_price, as MCP tools call it; of both the lower one holds.'),
  seller: uuidParam("An agent's id: what it has on the market."),
  mine: flagParam('Your own listings, in every state; needs a key with the scope read, or a session and agent_id.'),
  live: flagParam("Only what works now: its last paid call, or the marketplace's own test, was delivered."),
  min_success: rateParam(
    'The least quality.success_rate_30d; leaves out what has none, because nobody has called or tested it yet.',
  ),
  include: choicesParam(
    INCLUDED,
    'More members of the answer, separated by commas. facets: how many of the found listings have each category, ' +
      'pricing model, delivery type and liveness; null where total is an estimate. ways_to_pay: the routes that are ' +
      'open now, each for prices from its minimum_usd; left out while the ledger is unavailable.',
  ),
  sort: {
    ...choiceParam(listingOrder.options),
    description:
      'Left out: relevance where q is given, or else newest. In another order than relevance, q finds only what fits ' +
      'about as well as the best.',
  },
  ...pageParams(100),
  cursor: listingCursorParam,
};
const page = pageSchema(jsonSchemaOf(listingView));
const searchedPage: JsonSchema = {
  ...page,
  properties: {
    ...(page.properties as Record<string, JsonSchema>),
    search: { ...jsonSchemaOf(searchNote), description: 'There where q is: how it was read.' },
    facets: { ...jsonSchemaOf(listingFacets.nullable()), description: 'There where include asks for it.' },
    ways_to_pay: { ...jsonSchemaOf(z.array(wayToPay)), description: 'There where include asks for it.' },
  },
};
const qualityQuery = { days: integerParam(1, 30, 30) };

@ApiTags('Catalog')
@Controller()
export class BrowseListingsHttpController {
  constructor(
    private readonly bus: MessageBus,
    @Inject(platformConfig.token) private readonly platform: ConfigOf<typeof platformConfig>,
  ) {}

  @Get('categories')
  @Public()
  @Operation({
    summary: 'List the categories',
    description: 'Ordered by sort_order.',
    asks: [listCategories],
    cacheable: true,
    answer: {
      schema: envelopeSchema({ type: 'array', items: jsonSchemaOf(categoryView) }),
      example: success([categoryExample]),
    },
  })
  async listCategories(
    @CurrentContext() context: RequestContext,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const { categories } = await this.bus.request(listCategories, {}, context);
    return sendCacheable(request, reply, success(categories));
  }

  @Get('listings')
  @OptionalKey({ owners: true })
  @Operation({
    summary: 'Search the active listings',
    description:
      'All filters must hold: max_price_usd=0.05&live=true&min_success=0.95 finds what costs at most 5 cents, works now ' +
      'and mostly did. A result has its price, its quality (live, success by all calls and by those of buyers, latency ' +
      'p50 and p95) and its rating. mine=true shows the listings of the agent that asks, in every state, and answers 401 ' +
      'without its key or a session of its owner. A page past the end is empty. Words that no listing has stand for the ' +
      'words most like them; search says how q was read. total is exact up to 10,000, and pages reach so far; where there ' +
      'are more, total_is_estimate is true, and the cursor reads on. Of words that thousands of listings have, those that ' +
      'promise most are ranked and counted, and total_is_estimate is true.',
    asks: [searchListings, listPaymentRoutes],
    query: searchQuery,
    cacheable: true,
    answer: {
      schema: searchedPage,
      example: {
        ...paginated([listingExample], 1, { page: 1, limit: 20 }),
        search: { match: 'all', used: ['wind', 'forecast'], corrected: [], unmatched: [] },
      },
    },
  })
  @ApiRefusals({ unauthorized: edgeRefusals.unauthorized })
  async searchListings(
    @Query() raw: object,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const {
      q,
      category,
      pricing_model,
      delivery_type,
      min_price,
      max_price,
      max_price_usd,
      min_success,
      include,
      seller,
      mine,
      live,
      page,
      limit,
      cursor,
      ...asked
    } = readQuery(searchQuery, raw);
    const sort = asked.sort ?? (q?.trim() ? 'relevance' : 'newest');
    const input = {
      q,
      categoryId: category,
      pricingModel: pricing_model,
      deliveryType: delivery_type,
      minPriceMicros: min_price,
      maxPriceMicros: lower(max_price, max_price_usd),
      minSuccess: min_success,
      facets: include.includes('facets') || undefined,
      sellerId: seller,
      mine,
      live: live || undefined,
      sort,
      after: pageEndOf(cursor, sort),
      page,
      limit,
    };
    if (mine && !request.context.principal) throw unauthorized();
    const [found, paid] = await Promise.all([
      this.bus.request(searchListings, input, request.context),
      include.includes('ways_to_pay')
        ? this.bus.request(listPaymentRoutes, {}, request.context).catch(() => undefined)
        : undefined,
    ]);
    const waysToPay = paid?.routes.filter(({ closed }) => closed === null).map((route) => wayToPay.parse(route));
    const pagination = {
      ...paginationOf(found.total, { page, limit }, found.totalIsEstimate),
      ...(found.next && { next_cursor: cursorOf(sort, found.next) }),
    };
    linkPages(request, reply, this.platform.publicUrl, pagination);
    const body = pageOfJson(found.itemsJson, pagination, {
      ...(found.search && { search: found.search }),
      ...(found.facets !== undefined && { facets: found.facets }),
      ...(waysToPay && { ways_to_pay: waysToPay }),
    });
    if (!mine) return sendCacheableText(request, reply, body, JSON_TYPE);
    reply.type(JSON_TYPE);
    return body;
  }

  @Get('listings/:listingId')
  @OptionalKey({ owners: true })
  @Operation({
    summary: 'A listing in full',
    description:
      'By uuid or slug, current or former. Drafts and suspended listings, and connection_instructions, are seen by ' +
      'their owner alone. rating is null until the first review.',
    asks: [getListing],
    cacheable: true,
    answer: { schema: envelopeSchema(jsonSchemaOf(listingDetail)), example: success(listingDetailExample) },
  })
  async getListing(
    @Param('listingId') listingId: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const ref = refOr(listingId, () => refuse(getListing, 'listing_not_found', {}));
    const body = success(await this.bus.request(getListing, { ref }, request.context));
    return request.context.principal ? body : sendCacheable(request, reply, body);
  }

  @Get('listings/:listingId/quality')
  @OptionalKey({ owners: true })
  @Operation({
    summary: 'How well calls of a listing went, day by day',
    description:
      'By uuid or slug, for whoever sees the listing. Oldest first, days of UTC; days of which nothing is known are left out.',
    asks: [getListing, getListingQuality],
    query: qualityQuery,
    cacheable: true,
    answer: {
      schema: envelopeSchema(jsonSchemaOf(getListingQuality.output.shape.days)),
      example: success([dayQualityExample]),
    },
  })
  async getListingQuality(
    @Param('listingId') listingId: string,
    @Query() raw: object,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const { days } = readQuery(qualityQuery, raw);
    const ref = refOr(listingId, () => refuse(getListing, 'listing_not_found', {}));
    const { id } = await this.bus.request(getListing, { ref }, request.context);
    const body = success((await this.bus.request(getListingQuality, { listingId: id, days }, request.context)).days);
    return request.context.principal ? body : sendCacheable(request, reply, body);
  }
}

const lower = (a: string | undefined, b: string | undefined): string | undefined =>
  a === undefined || (b !== undefined && BigInt(b) < BigInt(a)) ? b : a;
