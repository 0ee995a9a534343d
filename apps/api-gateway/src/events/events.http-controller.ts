import { accountEvent, eventCursor, eventId, listEvents } from '@market/contracts/reputation';
import { MessageBus } from '@market/messaging';
import { Controller, Get, Query, Req, Res } from '@nestjs/common';
import { ApiHeader, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RequireScope } from '../http/access.js';
import { edgeRefusals, requestInvalid } from '../http/edge-refusals.js';
import { paginated } from '../http/envelope.js';
import { pageParams, readQuery, type Param } from '../http/query.js';
import { asksForStream, ServerSentEvents } from '../http/server-sent-events.js';
import { jsonSchemaOf, pageSchema } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { ApiRefusals } from '../openapi/refusal-responses.js';
import { EventStreams } from './event-streams.js';
import { eventExample, streamExample } from './events.examples.js';

const isEventId = (text: string): boolean => eventId.safeParse(text).success;
const ID_PROBLEM = 'must be the id of an event';

const cursorParam: Param<string> = {
  read: (text) => (eventCursor.safeParse(text).success ? text : undefined),
  problem: `${ID_PROBLEM}, or now`,
  fallback: '0',
  schema: { ...jsonSchemaOf(eventCursor), default: '0' },
  description:
    'The id of the last event that you have; those behind it are told. One that is ahead of all events starts over. ' +
    'now tells only what happens from now on.',
};
const eventsQuery = { ...pageParams(100), cursor: cursorParam };

@ApiTags('Events')
@Controller('events')
export class EventsHttpController {
  constructor(
    private readonly bus: MessageBus,
    private readonly streams: EventStreams,
    private readonly serverSentEvents: ServerSentEvents,
  ) {}

  @Get()
  @RequireScope('read', { owners: true })
  @ApiHeader({
    name: 'Last-Event-ID',
    required: false,
    description: 'Of a stream: the id of the last event that you have. It wins over cursor.',
  })
  @Operation({
    summary: 'What concerns you, as it happens',
    description:
      'Sales, failures, refunds, reviews and what becomes of your listings, oldest first, kept for 30 days, ' +
      'each at least once and in order. With Accept: text/event-stream it is a stream of server-sent events ' +
      'that stays open; come back with the id of the last one as Last-Event-ID, and nothing is missed. ' +
      'Pass over types that you do not know. An account has at most 5 streams open.',
    asks: [listEvents],
    query: eventsQuery,
    answer: {
      schema: pageSchema(jsonSchemaOf(accountEvent)),
      example: paginated([eventExample], 1, { page: 1, limit: 20 }),
      alsoAs: { 'text/event-stream': streamExample },
    },
  })
  @ApiRefusals({ too_many_streams: edgeRefusals.too_many_streams })
  async listEvents(@Query() raw: object, @Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { cursor, page, limit } = readQuery(eventsQuery, raw);
    if (asksForStream(request)) {
      const after = lastEventId(request) ?? cursor;
      const { accountId } = request.context.principal!;
      return this.serverSentEvents.send(request, reply, (stream) => this.streams.follow(stream, accountId, after));
    }
    const asked = { after: cursor, page, limit };
    const { items, hasMore, total } = await this.bus.request(listEvents, asked, request.context);
    void reply.send(paginated(items, total, { page, limit }, hasMore ? items.at(-1)!.id : null));
  }
}

/** @throws Refusal if the id does not have the form of an event id. */
function lastEventId({ headers }: FastifyRequest): string | undefined {
  const given = headers['last-event-id'];
  if (given === undefined || given === '') return undefined;
  if (typeof given !== 'string' || !isEventId(given))
    throw requestInvalid([{ field: 'Last-Event-ID', message: ID_PROBLEM }]);
  return given;
}
