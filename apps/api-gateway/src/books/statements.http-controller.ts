import { getStatement, ledgerEntry, statement } from '@market/contracts/payments-ledger';
import { MessageBus, refuse } from '@market/messaging';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { Controller, Get, Inject, Param, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RequireScope } from '../http/access.js';
import { paginated } from '../http/envelope.js';
import { linkPages } from '../http/page-links.js';
import { choiceParam, cursorParams, readQuery } from '../http/query.js';
import { jsonSchemaOf, objectSchema, pageSchema, type JsonSchema } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { entryExample } from './books.examples.js';
import { ledgerCsv } from './ledger-csv.js';

const statementQuery = { format: choiceParam(['json', 'csv']), ...cursorParams(100) };
const nothing = { micros: '0', usd: 0 };
const earned = { micros: '1330000', usd: 1.33 };
export const statementExample = {
  month: '2026-11',
  from: '2026-11-01T00:00:00.000Z',
  to: '2026-12-01T00:00:00.000Z',
  currency: 'USD',
  opening_balance: nothing,
  closing_balance: earned,
  accounts: [{ account: entryExample.account, opening_balance: nothing, closing_balance: earned }],
  totals: {
    earned: { micros: '1400000', usd: 1.4 },
    spent: nothing,
    fees: { micros: '70000', usd: 0.07 },
    fees_paid: nothing,
    refunds_due: nothing,
    refunds_received: nothing,
    refunds_owed: nothing,
    refunds_paid: nothing,
    payouts: nothing,
  },
};
const { properties, ...entriesSchema } = pageSchema(jsonSchemaOf(ledgerEntry)) as { properties: object };

@ApiTags('Books')
@Controller('statements')
export class StatementsHttpController {
  constructor(
    private readonly bus: MessageBus,
    @Inject(platformConfig.token) private readonly platform: ConfigOf<typeof platformConfig>,
  ) {}

  @Get(':month')
  @RequireScope('read', { owners: true })
  @Operation({
    summary: "A month, quarter, year or some days of the account's ledger",
    description:
      'Opening and closing balances, totals, and the entries in data, newest first and page by page, each with ' +
      'its transaction and wallet; the sums are those of the entries, to the micro. The period, of UTC, is 2026-11, ' +
      '2026-Q4, 2026 or, both days included, 2026-11-03--2026-11-20. ' +
      'format=csv, or Accept: text/csv, answers the page of entries as GET /ledger does.',
    asks: [getStatement],
    query: statementQuery,
    answer: {
      schema: {
        ...entriesSchema,
        required: ['success', 'data', 'pagination', 'statement'],
        properties: {
          ...properties,
          statement: objectSchema(jsonSchemaOf(statement).properties as Record<string, JsonSchema>),
        },
      } as never,
      example: { ...paginated([entryExample], 1, { page: 1, limit: 20 }), statement: statementExample },
      alsoAs: { 'text/csv': ledgerCsv([entryExample]) },
    },
  })
  async getStatement(
    @Param('month') month: string,
    @Query() raw: object,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    if (!getStatement.input.shape.month.safeParse(month).success) throw refuse(getStatement, 'statement_not_found', {});
    const { format, ...query } = readQuery(statementQuery, raw);
    const { entries, ...statement } = await this.bus.request(getStatement, { month, ...query }, request.context);
    const body = paginated(entries.items, entries.total, query, entries.nextCursor);
    linkPages(request, reply, this.platform.publicUrl, body.pagination);
    reply.header('vary', 'Accept');
    const isCsv = format === undefined ? request.headers.accept?.startsWith('text/csv') : format === 'csv';
    if (!isCsv) return { ...body, statement };
    reply.type('text/csv; charset=utf-8').header('content-disposition', `attachment; filename="${month}.csv"`);
    return ledgerCsv(entries.items);
  }
}
