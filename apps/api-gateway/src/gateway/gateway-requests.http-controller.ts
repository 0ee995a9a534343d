import type { OutputOf } from '@market/contracts';
import {
  gatewayRequestDetail,
  gatewayRequestStatus,
  gatewayRequestView,
  getGatewayRequest,
  listGatewayRequests,
} from '@market/contracts/gateway';
import { MessageBus, refuse, type RequestContext } from '@market/messaging';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { Controller, Get, Inject, Param, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RequireScope } from '../http/access.js';
import { CurrentContext } from '../http/current-context.decorator.js';
import { paginated, success } from '../http/envelope.js';
import { linkPages } from '../http/page-links.js';
import { choiceParam, cursorParams, readQuery, timestampParam, uuidParam } from '../http/query.js';
import { uuidOr } from '../http/values.js';
import { envelopeSchema, jsonSchemaOf, objectSchema, pageSchema } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { DisplayNames, withoutPicture, type PartyWithPicture } from '../display-names/display-names.js';
import { gatewayRequestDetailExample, gatewayRequestExample } from './gateway.examples.js';

const historyQuery = {
  role: choiceParam(['buyer', 'seller', 'all'], 'all'),
  status: choiceParam(gatewayRequestStatus.options),
  listing_id: uuidParam(),
  from: timestampParam('Inclusive.'),
  to: timestampParam('Exclusive.'),
  ...cursorParams(100),
};

const ATTEMPTS = jsonSchemaOf(gatewayRequestDetail.shape.attempts);
const PARTY = objectSchema({ id: { type: 'string', format: 'uuid' }, display_name: { type: 'string' } });
const {
  buyer_id: _buyer,
  seller_id: _seller,
  ...recordProperties
} = jsonSchemaOf(gatewayRequestView).properties as Record<string, object>;
const recordSchema = objectSchema({ ...recordProperties, buyer: PARTY, seller: PARTY });
const detailSchema = objectSchema({ ...recordProperties, attempts: ATTEMPTS, buyer: PARTY, seller: PARTY });

@ApiTags('Gateway')
@Controller('gateway-requests')
export class GatewayRequestsHttpController {
  constructor(
    private readonly bus: MessageBus,
    private readonly displayNames: DisplayNames,
    @Inject(platformConfig.token) private readonly platform: ConfigOf<typeof platformConfig>,
  ) {}

  @Get()
  @RequireScope('read', { owners: true })
  @Operation({
    summary: 'History of gateway calls',
    description:
      'Calls the account bought or sold, newest first; no bodies. The relay request id is shown to the buyer alone, ' +
      'and the transaction to the seller once it was charged. The seller reads `request_digest` once the request ' +
      'was forwarded, the buyer `response_digest` once the answer is settled. Calls are shown for as long as the ' +
      'operator keeps them, 90 days unless it says otherwise.',
    asks: [listGatewayRequests],
    query: historyQuery,
    answer: {
      schema: pageSchema(recordSchema),
      example: paginated([gatewayRequestExample], 1, { page: 1, limit: 20 }),
    },
  })
  async listGatewayRequests(
    @Query() raw: object,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const query = readQuery(historyQuery, raw);
    const { items, total, nextCursor } = await this.bus.request(listGatewayRequests, query, request.context);
    const partyOf = await this.displayNames.named(
      items.flatMap(({ buyer_id, seller_id }) => [buyer_id, seller_id]),
      request.context,
    );
    const body = paginated(
      items.map((item) => withParties(item, partyOf)),
      total,
      query,
      nextCursor,
    );
    linkPages(request, reply, this.platform.publicUrl, body.pagination);
    return body;
  }

  @Get(':requestId')
  @RequireScope('read', { owners: true })
  @Operation({
    summary: 'One gateway call',
    description: 'To its buyer and its seller alike, with every attempt at its delivery.',
    asks: [getGatewayRequest],
    answer: { schema: envelopeSchema(detailSchema), example: success(gatewayRequestDetailExample) },
  })
  async getGatewayRequest(@Param('requestId') requestId: string, @CurrentContext() context: RequestContext) {
    const id = uuidOr(requestId, () => refuse(getGatewayRequest, 'gateway_request_not_found', {}));
    const record = await this.bus.request(getGatewayRequest, { requestId: id }, context);
    return success(withParties(record, await this.displayNames.named([record.buyer_id, record.seller_id], context)));
  }
}

function withParties<Record extends OutputOf<typeof listGatewayRequests>['items'][number]>(
  { buyer_id, seller_id, ...record }: Record,
  partyOf: (id: string) => PartyWithPicture,
) {
  return { ...record, buyer: withoutPicture(partyOf(buyer_id)), seller: withoutPicture(partyOf(seller_id)) };
}
