import type { OutputOf } from '@market/contracts';
import { getListingCards, listingCard } from '@market/contracts/catalog';
import {
  cancelSubscription,
  getSubscription,
  listSubscriptions,
  subscriptionStatus,
  subscriptionView,
} from '@market/contracts/payments-ledger';
import { MessageBus, refuse, type RequestContext } from '@market/messaging';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { Controller, Delete, Get, Inject, Param, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RequireScope } from '../http/access.js';
import { CurrentContext } from '../http/current-context.decorator.js';
import { paginated, success } from '../http/envelope.js';
import { linkPages } from '../http/page-links.js';
import { choiceParam, integerParam, pageParams, readQuery } from '../http/query.js';
import { uuidOr } from '../http/values.js';
import { envelopeSchema, jsonSchemaOf, objectSchema, pageSchema, type JsonSchema } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { DisplayNames, withoutPicture } from '../display-names/display-names.js';
import { listedSubscriptionExample, SUBSCRIPTION_ID, subscriptionDetailExample } from './subscriptions.examples.js';

type SubscriptionRecord = OutputOf<typeof getSubscription>;
type Card = OutputOf<typeof getListingCards>['listings'][number];

const MAX_PAGE_SIZE = 100;
const subscriptionsQuery = {
  status: choiceParam([...subscriptionStatus.options, 'all'], 'active'),
  ...pageParams(MAX_PAGE_SIZE),
  limit: integerParam(1, MAX_PAGE_SIZE, MAX_PAGE_SIZE),
};

const properties = jsonSchemaOf(subscriptionView).properties as Record<string, JsonSchema>;
const { connection_instructions, auth_method, demo_endpoint, delivery_type } = jsonSchemaOf(listingCard).properties as {
  [name: string]: JsonSchema;
};
const PROVIDER = objectSchema({ id: { type: 'string', format: 'uuid' }, display_name: { type: 'string' } });
const LISTING: Record<string, JsonSchema> = {
  id: { type: 'string', format: 'uuid' },
  name: { type: 'string' },
  slug: { type: 'string' },
  delivery_type: { ...delivery_type, type: ['string', 'null'], enum: [...(delivery_type!.enum as string[]), null] },
  provider: PROVIDER,
};
const withListing = (listing: Record<string, JsonSchema>): JsonSchema =>
  objectSchema({ ...properties, listing: objectSchema(listing) });
const detailSchema = withListing({
  ...LISTING,
  connection_instructions: connection_instructions!,
  auth_method: { ...auth_method, type: ['string', 'null'], enum: [...(auth_method!.enum as string[]), null] },
  demo_endpoint: demo_endpoint!,
});

@ApiTags('Subscriptions')
@Controller('subscriptions')
export class SubscriptionsHttpController {
  constructor(
    private readonly bus: MessageBus,
    private readonly displayNames: DisplayNames,
    @Inject(platformConfig.token) private readonly platform: ConfigOf<typeof platformConfig>,
  ) {}

  @Get()
  @RequireScope('read', { owners: true })
  @Operation({
    summary: 'Subscriptions of the account',
    description: 'Newest first. One past its current_period_end is expired.',
    asks: [listSubscriptions],
    query: subscriptionsQuery,
    answer: {
      schema: pageSchema(withListing(LISTING)),
      example: paginated([listedSubscriptionExample], 1, { page: 1, limit: MAX_PAGE_SIZE }),
    },
  })
  async listSubscriptions(
    @Query() raw: object,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const query = readQuery(subscriptionsQuery, raw);
    const { items, total } = await this.bus.request(listSubscriptions, query, request.context);
    const completed = await this.complete(items, request.context);
    const body = paginated(
      completed.map(({ view }) => view),
      total,
      query,
    );
    linkPages(request, reply, this.platform.publicUrl, body.pagination);
    return body;
  }

  @Get(':subscriptionId')
  @RequireScope('read', { owners: true })
  @Operation({
    summary: 'One subscription, and how to connect',
    description:
      'Its subscriber alone sees it. What the catalog knows of the listing is null once the listing is gone.',
    asks: [getSubscription],
    answer: { schema: envelopeSchema(detailSchema), example: success(subscriptionDetailExample) },
  })
  async getSubscription(@Param('subscriptionId') subscriptionId: string, @CurrentContext() context: RequestContext) {
    const id = uuidOr(subscriptionId, () => refuse(getSubscription, 'subscription_not_found', {}));
    const [completed] = await this.complete(
      [await this.bus.request(getSubscription, { subscription_id: id }, context)],
      context,
    );
    const { view, card } = completed!;
    const connection = {
      connection_instructions: card?.connection_instructions ?? null,
      auth_method: card?.auth_method ?? null,
      demo_endpoint: card?.demo_endpoint ?? null,
    };
    return success({ ...view, listing: { ...view.listing, ...connection } });
  }

  @Delete(':subscriptionId')
  @RequireScope('subscribe')
  @Operation({
    summary: 'End a subscription',
    description:
      'At once, and by its subscriber alone; what was paid for the rest of the period is not returned. Repeating it changes nothing.',
    asks: [cancelSubscription],
    answer: {
      schema: envelopeSchema(jsonSchemaOf(cancelSubscription.output)),
      example: success({ id: SUBSCRIPTION_ID, status: 'cancelled' }),
    },
  })
  async cancelSubscription(@Param('subscriptionId') subscriptionId: string, @CurrentContext() context: RequestContext) {
    const id = uuidOr(subscriptionId, () => refuse(cancelSubscription, 'subscription_not_found', {}));
    return success(await this.bus.request(cancelSubscription, { subscription_id: id }, context));
  }

  /** Adds the listing with its current name, or as it was sold if it was removed. */
  private async complete(records: SubscriptionRecord[], context: RequestContext) {
    const ids = [...new Set(records.map(({ listing_id }) => listing_id))];
    const [{ listings }, partyOf] = await Promise.all([
      ids.length > 0 ? this.bus.request(getListingCards, { ids }, context) : { listings: [] as Card[] },
      this.displayNames.named(
        records.map(({ seller_id }) => seller_id),
        context,
      ),
    ]);
    const cards = new Map(listings.map((card) => [card.id, card]));
    return records.map(({ seller_id, listing, ...subscription }) => {
      const card = cards.get(listing.id);
      const { id, name, slug } = card ?? listing;
      return {
        card,
        view: {
          ...subscription,
          listing: {
            id,
            name,
            slug,
            delivery_type: card?.delivery_type ?? null,
            provider: withoutPicture(partyOf(seller_id)),
          },
        },
      };
    });
  }
}
