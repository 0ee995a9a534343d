import {
  getReceipt,
  getReceiptProof,
  listReceipts,
  receiptDetail,
  receiptView,
} from '@market/contracts/payments-ledger';
import { MessageBus, refuse, type RequestContext } from '@market/messaging';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { Controller, Get, Inject, Param, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RequireScope } from '../http/access.js';
import { CurrentContext } from '../http/current-context.decorator.js';
import { paginated, success } from '../http/envelope.js';
import { linkPages } from '../http/page-links.js';
import { choiceParam, cursorParams, readQuery } from '../http/query.js';
import { uuidOr } from '../http/values.js';
import { envelopeSchema, jsonSchemaOf, objectSchema, pageSchema, type JsonSchema } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { DisplayNames } from '../display-names/display-names.js';
import { proofExample, receiptDetailExample, receiptExample } from './books.examples.js';

const receiptsQuery = { role: choiceParam(['buyer', 'seller']), ...cursorParams(50) };

const PARTY = objectSchema({
  id: { type: 'string', format: 'uuid' },
  display_name: { type: 'string' },
  avatar_url: { type: ['string', 'null'] },
});
const {
  payer_id: _payer,
  seller_id: _seller,
  ...detailProperties
} = jsonSchemaOf(receiptDetail).properties as Record<string, JsonSchema>;
const detailSchema = envelopeSchema(objectSchema({ ...detailProperties, payer: PARTY, seller: PARTY }));

@ApiTags('Books')
@Controller('receipts')
export class ReceiptsHttpController {
  constructor(
    private readonly bus: MessageBus,
    private readonly displayNames: DisplayNames,
    @Inject(platformConfig.token) private readonly platform: ConfigOf<typeof platformConfig>,
  ) {}

  @Get()
  @RequireScope('read', { owners: true })
  @Operation({
    summary: 'Receipts of the account',
    description: 'As buyer and as seller, newest first.',
    asks: [listReceipts],
    query: receiptsQuery,
    answer: {
      schema: pageSchema(jsonSchemaOf(receiptView)),
      example: paginated([receiptExample], 1, { page: 1, limit: 20 }),
    },
  })
  async listReceipts(
    @Query() raw: object,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const query = readQuery(receiptsQuery, raw);
    const { items, total, nextCursor } = await this.bus.request(listReceipts, query, request.context);
    const body = paginated(items, total, query, nextCursor);
    linkPages(request, reply, this.platform.publicUrl, body.pagination);
    return body;
  }

  @Get(':receiptId')
  @RequireScope('read', { owners: true })
  @Operation({
    summary: 'One receipt',
    description: 'The one of the side that asks: a sale has one for its buyer and one for its seller.',
    asks: [getReceipt],
    answer: { schema: detailSchema, example: success(receiptDetailExample) },
  })
  async getReceipt(@Param('receiptId') receiptId: string, @CurrentContext() context: RequestContext) {
    const id = uuidOr(receiptId, () => refuse(getReceipt, 'receipt_not_found', {}));
    const { payer_id, seller_id, ...receipt } = await this.bus.request(getReceipt, { receiptId: id }, context);
    const partyOf = await this.displayNames.named([payer_id, seller_id], context);
    return success({ ...receipt, payer: partyOf(payer_id), seller: partyOf(seller_id) });
  }

  @Get(':receiptId/proof')
  @RequireScope('read', { owners: true })
  @Operation({
    summary: 'A receipt signed by the marketplace',
    description:
      'A compact JWS (RFC 7515, EdDSA, typ receipt+jwt) whose claims are the receipt, its parties and the ' +
      'digests of what was exchanged. Anyone checks it offline with the keys at /.well-known/jwks.json; ' +
      'no claim of it can be changed. The digests are null for a subscription.',
    asks: [getReceiptProof],
    answer: { schema: envelopeSchema(jsonSchemaOf(getReceiptProof.output)), example: success(proofExample) },
  })
  async getReceiptProof(@Param('receiptId') receiptId: string, @CurrentContext() context: RequestContext) {
    const id = uuidOr(receiptId, () => refuse(getReceiptProof, 'receipt_not_found', {}));
    return success(await this.bus.request(getReceiptProof, { receiptId: id }, context));
  }
}
