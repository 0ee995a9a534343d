import type { InputOf } from '@market/contracts';
import {
  confirmRefund,
  listRefunds,
  refundStatus,
  refundView,
  type RefundView,
} from '@market/contracts/payments-ledger';
import { MessageBus, refuse, type RequestContext } from '@market/messaging';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { Body, Controller, Get, Inject, Param, Post, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RequireScope } from '../http/access.js';
import { bodyOf } from '../http/body.js';
import { CurrentContext } from '../http/current-context.decorator.js';
import { paginated, success } from '../http/envelope.js';
import { linkPages } from '../http/page-links.js';
import { choiceParam, cursorParams, readQuery } from '../http/query.js';
import { uuidOr } from '../http/values.js';
import {
  GATEWAY_REQUEST_ID,
  KEY_ID,
  LATER,
  LISTING_REF,
  PAYMENT_ID,
  TRANSACTION_HASH,
} from '../openapi/example-values.js';
import { envelopeSchema, jsonSchemaOf, pageSchema } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';

const refundsQuery = {
  role: choiceParam(['buyer', 'seller']),
  status: choiceParam(refundStatus.options),
  ...cursorParams(100),
};
const confirmation = confirmRefund.input.pick({ transaction: true });

export const refundExample: RefundView = {
  id: KEY_ID,
  payment_id: PAYMENT_ID,
  gateway_request_id: GATEWAY_REQUEST_ID,
  role: 'seller',
  status: 'refunded',
  reason: 'not_delivered',
  owed_by: 'seller',
  amount: { micros: '237500', usd: 0.2375 },
  listing: LISTING_REF,
  network: 'eip155:8453',
  wallet: '0x52908400098527886E0F7030069857D2E4169EE7',
  transaction_hash: TRANSACTION_HASH,
  due_since: LATER,
  pay_by: null,
  refunded_at: LATER,
};

/** Refunds, which are owed to buyers or were paid to them. */
@ApiTags('Books')
@Controller('refunds')
export class RefundsHttpController {
  constructor(
    private readonly bus: MessageBus,
    @Inject(platformConfig.token) private readonly platform: ConfigOf<typeof platformConfig>,
  ) {}

  @Get()
  @RequireScope('read', { owners: true })
  @Operation({
    summary: 'Refunds of the account',
    description:
      'What is owed back to it, role=buyer, and what it owes as a seller, role=seller; newest first. A seller pays ' +
      'amount of USDC to wallet on network by an ordinary transfer from its payout wallet, and confirms it.',
    asks: [listRefunds],
    query: refundsQuery,
    answer: {
      schema: pageSchema(jsonSchemaOf(refundView)),
      example: paginated([refundExample], 1, { page: 1, limit: 20 }),
    },
  })
  async listRefunds(
    @Query() raw: object,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const query = readQuery(refundsQuery, raw);
    const { items, total, nextCursor } = await this.bus.request(listRefunds, query, request.context);
    const body = paginated(items, total, query, nextCursor);
    linkPages(request, reply, this.platform.publicUrl, body.pagination);
    return body;
  }

  /** Checks the transfer on the chain. */
  @Post(':refundId/confirm')
  @RequireScope('write')
  @Operation({
    summary: 'Confirm that a refund was paid',
    description:
      'For the seller that owes it: the chain is asked for the transfer, of USDC, from its payout wallet to the ' +
      'wallet of the refund, of the amount or more, final and not earlier than the debt. A transfer pays one ' +
      'refund. Repeating it changes nothing.',
    asks: [confirmRefund],
    body: { schema: confirmation, examples: { paid: { transaction: TRANSACTION_HASH } } },
    answer: { schema: envelopeSchema(jsonSchemaOf(refundView)), example: success(refundExample) },
  })
  async confirmRefund(
    @Param('refundId') refundId: string,
    @Body(bodyOf(confirmation)) { transaction }: Pick<InputOf<typeof confirmRefund>, 'transaction'>,
    @CurrentContext() context: RequestContext,
  ) {
    const refund_id = uuidOr(refundId, () => refuse(confirmRefund, 'refund_not_found', {}));
    return success(await this.bus.request(confirmRefund, { refund_id, transaction }, context));
  }
}
