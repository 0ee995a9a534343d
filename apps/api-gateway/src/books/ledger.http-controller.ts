import { ledgerEntry, ledgerEntryType, listLedger } from '@market/contracts/payments-ledger';
import { MessageBus } from '@market/messaging';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { Controller, Get, Inject, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RequireScope } from '../http/access.js';
import { paginated } from '../http/envelope.js';
import { linkPages } from '../http/page-links.js';
import { choiceParam, cursorParams, readQuery, timestampParam, uuidParam } from '../http/query.js';
import { jsonSchemaOf, pageSchema } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { entryExample } from './books.examples.js';
import { ledgerCsv } from './ledger-csv.js';

const ledgerQuery = {
  type: choiceParam(ledgerEntryType.options),
  direction: choiceParam(['debit', 'credit']),
  listing_id: uuidParam(),
  from: timestampParam('Inclusive.'),
  to: timestampParam('Exclusive.'),
  format: choiceParam(['json', 'csv'], 'json'),
  ...cursorParams(100),
};

@ApiTags('Books')
@Controller('ledger')
export class LedgerHttpController {
  constructor(
    private readonly bus: MessageBus,
    @Inject(platformConfig.token) private readonly platform: ConfigOf<typeof platformConfig>,
  ) {}

  @Get()
  @RequireScope('read', { owners: true })
  @Operation({
    summary: 'Ledger entries of the account',
    description:
      'Direct payments, seller credits, marketplace fees and adjustments, newest first. format=csv answers ' +
      'the same page as text/csv; the Link header leads to the others. Read on by cursor: pages by number ' +
      'shift while entries arrive.',
    asks: [listLedger],
    query: ledgerQuery,
    answer: {
      schema: pageSchema(jsonSchemaOf(ledgerEntry)),
      example: paginated([entryExample], 1, { page: 1, limit: 20 }),
      alsoAs: { 'text/csv': ledgerCsv([entryExample]) },
    },
  })
  async listLedger(
    @Query() raw: object,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const { format, listing_id: listingId, ...query } = readQuery(ledgerQuery, raw);
    const { items, total, nextCursor } = await this.bus.request(listLedger, { ...query, listingId }, request.context);
    const body = paginated(items, total, query, nextCursor);
    linkPages(request, reply, this.platform.publicUrl, body.pagination);
    if (format === 'json') return body;
    reply.type('text/csv; charset=utf-8').header('content-disposition', 'attachment; filename="ledger.csv"');
    return ledgerCsv(items);
  }
}
