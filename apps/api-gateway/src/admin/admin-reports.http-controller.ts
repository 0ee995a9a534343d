import { eventQueues, operatorAction } from '@market/contracts';
import { catalogContract, findListings, inspectListing } from '@market/contracts/catalog';
import { findCalls, gatewayContract, getCallsOverview, inspectCall } from '@market/contracts/gateway';
import { findAccounts, identityContract, inspectAccount, recordOperatorRead } from '@market/contracts/identity';
import {
  findPayments,
  getMoneyOverview,
  inspectPayment,
  paymentsLedgerContract,
} from '@market/contracts/payments-ledger';
import { reputationContract } from '@market/contracts/reputation';
import { isUuid } from '@market/kernel';
import { MessageBus, Refusal, refuse, type RequestContext } from '@market/messaging';
import { Controller, Get, Param, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { setTimeout as delay } from 'node:timers/promises';
import { OperatorsOnly } from '../http/access.js';
import { CurrentContext } from '../http/current-context.decorator.js';
import { edgeRefusals, requestInvalid } from '../http/edge-refusals.js';
import { paginated, success } from '../http/envelope.js';
import { integerParam, readQuery, textParam, uuidParam } from '../http/query.js';
import { asksForStream, COMMENT, ServerSentEvents, type OpenStream } from '../http/server-sent-events.js';
import { refOr, uuidOr } from '../http/values.js';
import { envelopeSchema, jsonSchemaOf, objectSchema, pageSchema, type JsonSchema } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { ApiRefusals } from '../openapi/refusal-responses.js';
import {
  accountDetailExample,
  accountExample,
  auditExample,
  callExample,
  callInspectedExample,
  listingInspectedExample,
  listingSummaryExample,
  overviewExample,
  paymentExample,
  paymentInspectedExample,
} from './admin.examples.js';

/** All services that have a database. */
const SERVICES = {
  identity: identityContract,
  catalog: catalogContract,
  'payments-ledger': paymentsLedgerContract,
  gateway: gatewayContract,
  reputation: reputationContract,
} as const;
const serviceNames = Object.keys(SERVICES) as (keyof typeof SERVICES)[];
const SERVICE: JsonSchema = { type: 'string', enum: serviceNames };

/** How often a stream of the overview reads the figures. */
const POLL_INTERVAL_MS = 2_000;
const overviewFrame = (json: string): string => `event: overview\ndata: ${json}\n\n`;

const searchQuery = {
  q: textParam(
    200,
    'An id, a wallet, the beginning of a name, a transaction, a relay request id, or the prefix of a key.',
  ),
};
const auditQuery = {
  page: integerParam(1, 100, 1),
  limit: integerParam(1, 100, 50),
  cursor: uuidParam('pagination.next_cursor of the page before.'),
};

/** Reports for operators. Every read of an account's data is recorded before the data is sent. */
@ApiTags('Operators')
@Controller('admin')
export class AdminReportsHttpController {
  constructor(
    private readonly bus: MessageBus,
    private readonly serverSentEvents: ServerSentEvents,
  ) {}

  @Get('overview')
  @OperatorsOnly()
  @Operation({
    summary: 'How the marketplace is doing',
    description:
      'Volume, revenue and calls of the last 14 days, what is due, money that the books do not explain, ' +
      'payments that wait by rail, and the event queues of each service; null for a service that is out of reach. ' +
      'Some seconds old. With Accept: text/event-stream it is a stream that stays open: the data of this ' +
      'answer as the event overview, at once and whenever a number moved, looked at every two seconds. ' +
      'It counts among the 5 streams that an account has open at most.',
    asks: [getMoneyOverview, getCallsOverview],
    answer: {
      schema: envelopeSchema(
        objectSchema({
          money: jsonSchemaOf(getMoneyOverview.output),
          calls: jsonSchemaOf(getCallsOverview.output),
          services: {
            type: 'array',
            items: objectSchema({
              service: SERVICE,
              queues: { anyOf: [jsonSchemaOf(eventQueues), { type: 'null' }] },
            }),
          },
        }),
      ),
      example: success(overviewExample),
      alsoAs: { 'text/event-stream': overviewFrame(JSON.stringify(overviewExample)) },
    },
  })
  @ApiRefusals({ too_many_streams: edgeRefusals.too_many_streams })
  async getOverview(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    if (asksForStream(request))
      return this.serverSentEvents.send(request, reply, (stream) => this.followOverview(stream));
    void reply.send(success(await this.readOverview(request.context)));
  }

  /** Repeats the latest overview while a service is unavailable, and keeps the connection open. */
  private async *followOverview(stream: OpenStream): AsyncGenerator<string, void, undefined> {
    let latest: string | undefined;
    while (await stream.isOpen()) {
      const overview = await this.readOverview(stream.context()).then(JSON.stringify, () => latest);
      yield overview === undefined || overview === latest ? COMMENT : overviewFrame(overview);
      latest = overview;
      await delay(POLL_INTERVAL_MS, undefined, { signal: stream.signal }).catch(() => undefined);
    }
  }

  private async readOverview(context: RequestContext): Promise<object> {
    const [money, calls, services] = await Promise.all([
      this.bus.request(getMoneyOverview, {}, context),
      this.bus.request(getCallsOverview, {}, context),
      Promise.all(
        serviceNames.map(async (service) => ({
          service,
          queues: await this.bus.request(SERVICES[service].getQueues, {}, context).catch(nullIfUnavailable),
        })),
      ),
    ]);
    return { money, calls, services };
  }

  @Get('search')
  @OperatorsOnly()
  @Operation({
    summary: 'Find any account, listing, payment or call',
    description:
      'By id, wallet, the beginning of a display name, name or slug of a listing, transaction, relay request id, ' +
      'or the id or prefix of an API key; the newest 20 of each kind. An account brings its listings, payments and ' +
      'calls. The search is recorded.',
    asks: [recordOperatorRead, findAccounts, findListings, findPayments, findCalls],
    query: searchQuery,
    answer: {
      schema: envelopeSchema(
        objectSchema({
          accounts: jsonSchemaOf(findAccounts.output.shape.accounts),
          listings: jsonSchemaOf(findListings.output.shape.listings),
          payments: jsonSchemaOf(findPayments.output.shape.payments),
          calls: jsonSchemaOf(findCalls.output.shape.calls),
        }),
      ),
      example: success({
        accounts: [accountExample],
        listings: [listingSummaryExample],
        payments: [paymentExample],
        calls: [callExample],
      }),
    },
  })
  async searchAll(@Query() raw: object, @CurrentContext() context: RequestContext) {
    const query = readQuery(searchQuery, raw).q?.trim();
    if (!query) throw requestInvalid([{ field: 'q', message: 'must say what to look for' }]);
    await this.record('search', query, context);
    const { accounts } = await this.bus.request(findAccounts, { query }, context);
    const [account] = accounts;
    const accountId = accounts.length === 1 ? account!.id : undefined;
    const ids = isUuid(query) ? [query.toLowerCase()] : [];
    const [{ listings }, { payments: paid }, { calls: called }] = await Promise.all([
      this.bus.request(findListings, { query: accountId ?? query }, context),
      this.bus.request(findPayments, { ids, reference: query, accountId }, context),
      this.bus.request(findCalls, { ids, accountId }, context),
    ]);
    // Includes the calls of payments found by transaction, and the payments of calls found by id.
    const paymentIds = present([...paid.map(({ id }) => id), ...called.map(({ payment_id }) => payment_id)]);
    const callIds = present([
      ...called.map(({ id }) => id),
      ...paid.map(({ gateway_request_id }) => gateway_request_id),
    ]);
    const [{ payments }, { calls }] = await Promise.all([
      this.bus.request(findPayments, { ids: paymentIds }, context),
      this.bus.request(findCalls, { ids: callIds }, context),
    ]);
    return success({ accounts, listings, payments, calls });
  }

  @Get('agents/:agentId')
  @OperatorsOnly()
  @Operation({
    summary: 'An account with its wallets and keys',
    description: 'Of an agent or a human. The look is recorded.',
    asks: [recordOperatorRead, inspectAccount],
    answer: { schema: envelopeSchema(jsonSchemaOf(inspectAccount.output)), example: success(accountDetailExample) },
  })
  async inspectAgent(@Param('agentId') agentId: string, @CurrentContext() context: RequestContext) {
    const accountId = uuidOr(agentId, () => refuse(inspectAccount, 'agent_not_found', {}));
    await this.record('agent show', accountId, context);
    return success(await this.bus.request(inspectAccount, { accountId }, context));
  }

  @Get('listings/:listingId')
  @OperatorsOnly()
  @Operation({
    summary: 'A listing in any state',
    description:
      'By uuid or slug, with who suspended it and other listings whose names read the same. The look is recorded.',
    asks: [recordOperatorRead, inspectListing],
    answer: { schema: envelopeSchema(jsonSchemaOf(inspectListing.output)), example: success(listingInspectedExample) },
  })
  async inspectListing(@Param('listingId') listingId: string, @CurrentContext() context: RequestContext) {
    const ref = refOr(listingId, () => refuse(inspectListing, 'listing_not_found', {}));
    await this.record('listing show', ref, context);
    return success(await this.bus.request(inspectListing, { ref }, context));
  }

  @Get('payments/:paymentId')
  @OperatorsOnly()
  @Operation({
    summary: 'A payment with its signatures and what was booked of it',
    description: 'Of anyone. The look is recorded.',
    asks: [recordOperatorRead, inspectPayment],
    answer: { schema: envelopeSchema(jsonSchemaOf(inspectPayment.output)), example: success(paymentInspectedExample) },
  })
  async inspectPayment(@Param('paymentId') id: string, @CurrentContext() context: RequestContext) {
    const paymentId = uuidOr(id, () => refuse(inspectPayment, 'payment_not_found', {}));
    await this.record('payment show', paymentId, context);
    return success(await this.bus.request(inspectPayment, { paymentId }, context));
  }

  @Get('calls/:requestId')
  @OperatorsOnly()
  @Operation({
    summary: 'A call with every attempt',
    description: 'Of anyone, as its buyer sees it; no bodies. The look is recorded.',
    asks: [recordOperatorRead, inspectCall],
    answer: { schema: envelopeSchema(jsonSchemaOf(inspectCall.output)), example: success(callInspectedExample) },
  })
  async inspectCall(@Param('requestId') id: string, @CurrentContext() context: RequestContext) {
    const requestId = uuidOr(id, () => refuse(inspectCall, 'gateway_request_not_found', {}));
    await this.record('call show', requestId, context);
    return success(await this.bus.request(inspectCall, { requestId }, context));
  }

  @Get('audit')
  @OperatorsOnly()
  @Operation({
    summary: 'What operators did and looked at',
    description: 'Over HTTP and on the command line, in all services, newest first.',
    asks: serviceNames.map((service) => SERVICES[service].listOperatorActions),
    query: auditQuery,
    answer: {
      schema: pageSchema({ allOf: [jsonSchemaOf(operatorAction), objectSchema({ service: SERVICE })] }),
      example: paginated([auditExample], 1, { page: 1, limit: 50 }),
    },
  })
  async listAudit(@Query() raw: object, @CurrentContext() context: RequestContext) {
    const { page, limit, cursor: before } = readQuery(auditQuery, raw);
    const end = page * limit;
    const found = await Promise.all(
      serviceNames.map(async (service) => {
        const { actions, total } = await this.bus.request(
          SERVICES[service].listOperatorActions,
          { before, limit: end + 1 },
          context,
        );
        return { total, actions: actions.map((action) => ({ ...action, service })) };
      }),
    );
    const actions = found.flatMap((each) => each.actions).sort((a, b) => (a.id > b.id ? -1 : 1));
    const data = actions.slice(end - limit, end);
    const total = found.reduce((sum, each) => sum + each.total, 0);
    return paginated(data, total, { page, limit }, actions.length > end ? data.at(-1)!.id : null);
  }

  private record(command: string, subject: string, context: RequestContext): Promise<unknown> {
    return this.bus.request(recordOperatorRead, { command, subject }, context);
  }
}

const present = (ids: (string | null)[]): string[] => ids.filter((id) => id !== null);

/** Returns null if a service is unavailable. */
function nullIfUnavailable(error: unknown): null {
  if (error instanceof Refusal && error.declaration.kind === 'unavailable') return null;
  throw error;
}
