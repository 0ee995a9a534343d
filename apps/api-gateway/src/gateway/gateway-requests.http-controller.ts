import type { OutputOf } from '@market/contracts';
import {
  cancelCall,
  gatewayRequestDetail,
  gatewayRequestStatus,
  gatewayRequestView,
  getGatewayRequest,
  EVENT_STREAM,
  isStreamType,
  listGatewayRequests,
  openContent,
} from '@market/contracts/gateway';
import { MessageBus, refuse, type RequestContext } from '@market/messaging';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { Controller, Delete, Get, Inject, Param, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RequireScope } from '../http/access.js';
import { CurrentContext } from '../http/current-context.decorator.js';
import { JSON_TYPE, paginated, success } from '../http/envelope.js';
import { linkPages } from '../http/page-links.js';
import { choiceParam, cursorParams, readQuery, timestampParam, uuidParam } from '../http/query.js';
import { uuidOr } from '../http/values.js';
import { GATEWAY_REQUEST_ID } from '../openapi/example-values.js';
import { envelopeSchema, jsonSchemaOf, objectSchema, pageSchema } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { edgeRefusals } from '../http/edge-refusals.js';
import { ApiHttpErrors, ApiRefusals } from '../openapi/refusal-responses.js';
import { DisplayNames, withoutPicture, type PartyWithPicture } from '../display-names/display-names.js';
import { wantsEvents } from './file-view.js';
import { varyByAccept } from './send-answer.js';
import { AnswerFiles } from './answer-files.js';
import { AnswerStreams, streamOf } from './answer-streams.js';
import { ApiFileRange, ApiStreamPlace, fileHeaders, streamExample } from './call-answer.openapi.js';
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
    private readonly files: AnswerFiles,
    private readonly streams: AnswerStreams,
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
  async getGatewayRequest(
    @Param('requestId') requestId: string,
    @CurrentContext() context: RequestContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const id = uuidOr(requestId, () => refuse(getGatewayRequest, 'gateway_request_not_found', {}));
    const record = await this.bus.request(getGatewayRequest, { requestId: id }, context);
    if (record.retry_after_seconds !== null) reply.header('retry-after', record.retry_after_seconds);
    return success(withParties(record, await this.displayNames.named([record.buyer_id, record.seller_id], context)));
  }

  @Delete(':requestId')
  @RequireScope('subscribe')
  @Operation({
    summary: 'Ask to cancel a job',
    description:
      'For the buyer of a call that its seller works on. The seller is told, once. Nothing is owed back unless it agrees ' +
      'or the deadline passes; what it delivers first is charged. Asking again changes nothing.',
    asks: [cancelCall],
    status: 202,
    answer: {
      schema: envelopeSchema(jsonSchemaOf(cancelCall.output)),
      example: success({ request_id: GATEWAY_REQUEST_ID, status: 'cancelling', retry_after_seconds: 5 }),
      description: 'The seller is told.',
    },
  })
  async cancelCall(
    @Param('requestId') requestId: string,
    @CurrentContext() context: RequestContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const id = uuidOr(requestId, () => refuse(cancelCall, 'gateway_request_not_found', {}));
    const cancelling = await this.bus.request(cancelCall, { requestId: id }, context);
    reply.header('retry-after', cancelling.retry_after_seconds);
    return success(cancelling);
  }

  @Get(':requestId/content')
  @RequireScope('read', { owners: true })
  @Operation({
    summary: 'The file or stream that a call was answered with',
    description:
      'To its buyer, with a key whose budget allows the listing, once the call is charged and as long as answers are ' +
      'kept; of a free call for a day. One range is answered with 206, several with the whole file. ' +
      'Images, sounds, films and plain text are shown by browsers; every other file is saved. A stream is read with ' +
      '`Accept: text/event-stream`, also while it comes, and from behind the event of `Last-Event-ID`; its last event ' +
      'has the id `market.end`, with which it answers 204.',
    asks: [openContent],
    answer: {
      schema: { type: 'string', format: 'binary' },
      contentType: 'application/octet-stream',
      alsoAs: { [EVENT_STREAM]: streamExample },
      example: 'city,celsius',
      description: 'The bytes, with the Content-Type of the seller.',
      headers: fileHeaders,
    },
  })
  @ApiRefusals({ content_is_no_script: edgeRefusals.content_is_no_script })
  @ApiFileRange()
  @ApiStreamPlace()
  @ApiHttpErrors(416)
  async getGatewayRequestContent(
    @Param('requestId') requestId: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const id = uuidOr(requestId, () => refuse(openContent, 'content_not_found', {}));
    const opened = await this.bus.request(openContent, { requestId: id }, request.context);
    if ('json' in opened) return void reply.type(JSON_TYPE).send(opened.json);
    const isStream = 'stream' in opened || isStreamType(opened.content.contentType);
    varyByAccept(reply);
    if (isStream && wantsEvents(request.headers.accept))
      return this.streams.send('stream' in opened ? opened.stream : streamOf(id, opened.content), request, reply);
    if ('stream' in opened) throw refuse(openContent, 'content_not_found', {});
    // A stream is stored as server-sent events, whatever its seller sent.
    const content = isStream ? { ...opened.content, contentType: EVENT_STREAM } : opened.content;
    await this.files.serve(id, content, request, reply);
  }
}

function withParties<Record extends OutputOf<typeof listGatewayRequests>['items'][number]>(
  { buyer_id, seller_id, ...record }: Record,
  partyOf: (id: string) => PartyWithPicture,
) {
  return { ...record, buyer: withoutPicture(partyOf(buyer_id)), seller: withoutPicture(partyOf(seller_id)) };
}
