import { deliveryType, pricingModel } from '@market/contracts';
import {
  categoryView,
  getListing,
  listCategories,
  listingDetail,
  listingOrder,
  listingView,
  searchListings,
} from '@market/contracts/catalog';
import { getListingQuality } from '@market/contracts/gateway';
import { MessageBus, refuse, type RequestContext } from '@market/messaging';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { Controller, Get, Inject, Param, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { OptionalKey, Public } from '../http/access.js';
import { CurrentContext } from '../http/current-context.decorator.js';
import { edgeRefusals, unauthorized } from '../http/edge-refusals.js';
import { JSON_TYPE, pageOfJson, paginated, paginationOf, success } from '../http/envelope.js';
import { linkPages } from '../http/page-links.js';
import { sendCacheable, sendCacheableText } from '../http/public-cache.js';
import {
  choiceParam,
  flagParam,
  integerParam,
  pageParams,
  readQuery,
  textParam,
  usdParam,
  uuidParam,
} from '../http/query.js';
import { refOr } from '../http/values.js';
import { envelopeSchema, jsonSchemaOf, pageSchema } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { ApiRefusals } from '../openapi/refusal-responses.js';
import { categoryExample, dayQualityExample, listingDetailExample, listingExample } from './listings.examples.js';

const searchQuery = {
  q: textParam(200, 'Full text over name, description and tags; quotes, OR and - work as in web search.'),
  category: uuidParam("A category's id."),
  pricing_model: choiceParam(pricingModel.options),
  delivery_type: choiceParam(deliveryType.options),
  min_price: usdParam('US dollars, inclusive.'),
  max_price: usdParam('US dollars, inclusive.'),
  seller: uuidParam("An agent's id: what it has on the market."),
  mine: flagParam('Your own listings, in every state; needs a key with the scope read, or a session and agent_id.'),
  live: flagParam("Only what works now: its last paid call, or the marketplace's own test, was delivered."),
  sort: choiceParam(listingOrder.options, 'newest'),
  ...pageParams(100),
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
      'All filters must hold; mine=true shows the listings of the agent that asks, in every state, and answers 401 ' +
      'without its key or a session of its owner. A page past the end is empty. Where q finds nothing, words that ' +
      'no listing has stand for the words most like them. total is exact without filters and up to 10,000; beyond, ' +
      'total_is_estimate is true, and so far down a list a page may begin some listings before or behind its place.',
    asks: [searchListings],
    query: searchQuery,
    cacheable: true,
    answer: {
      schema: pageSchema(jsonSchemaOf(listingView)),
      example: paginated([listingExample], 1, { page: 1, limit: 20 }),
    },
  })
  @ApiRefusals({ unauthorized: edgeRefusals.unauthorized })
  async searchListings(
    @Query() raw: object,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const { q, category, pricing_model, delivery_type, min_price, max_price, seller, mine, live, sort, page, limit } =
      readQuery(searchQuery, raw);
    const input = {
      q,
      categoryId: category,
      pricingModel: pricing_model,
      deliveryType: delivery_type,
      minPriceMicros: min_price,
      maxPriceMicros: max_price,
      sellerId: seller,
      mine,
      live: live || undefined,
      sort,
      page,
      limit,
    };
    if (mine && !request.context.principal) throw unauthorized();
    const { itemsJson, total, totalIsEstimate } = await this.bus.request(searchListings, input, request.context);
    const pagination = paginationOf(total, { page, limit }, totalIsEstimate);
    linkPages(request, reply, this.platform.publicUrl, pagination);
    const body = pageOfJson(itemsJson, pagination);
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
