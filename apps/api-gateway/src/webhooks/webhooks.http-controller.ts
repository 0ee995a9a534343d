import type { InputOf } from '@market/contracts';
import {
  createWebhook,
  deleteWebhook,
  deliveryStatus,
  getWebhook,
  listWebhookDeliveries,
  listWebhooks,
  replayWebhookDelivery,
  rotateWebhookSecret,
  testWebhook,
  updateWebhook,
  webhookDelivery,
  webhookView,
} from '@market/contracts/gateway';
import { MessageBus, refuse, type RequestContext } from '@market/messaging';
import { Body, Controller, Delete, Get, Param, Patch, Post, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { RequireScope } from '../http/access.js';
import { bodyOf, bodyOrNoneOf, changesOf } from '../http/body.js';
import { CurrentContext } from '../http/current-context.decorator.js';
import { paginated, success } from '../http/envelope.js';
import { idempotentContext, markReplay } from '../http/idempotency.js';
import { choiceParam, cursorParams, readQuery } from '../http/query.js';
import { uuidOr } from '../http/values.js';
import { WEBHOOK_ID } from '../openapi/example-values.js';
import { envelopeSchema, jsonSchemaOf, pageSchema } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import {
  createdWebhookExample,
  deliveryExample,
  rotatedWebhookExample,
  testedWebhookExample,
  webhookExample,
} from './webhooks.examples.js';

const updateWebhookBody = updateWebhook.input.omit({ webhook_id: true });
const rotateSecretBody = rotateWebhookSecret.input.omit({ webhook_id: true });
const deliveriesQuery = { status: choiceParam(deliveryStatus.options), ...cursorParams(100) };

const webhookAnswer = { schema: envelopeSchema(jsonSchemaOf(webhookView)), example: success(webhookExample) };

@ApiTags('Events')
@Controller()
export class WebhooksHttpController {
  constructor(private readonly bus: MessageBus) {}

  @Get('webhooks')
  @RequireScope('read', { owners: true })
  @Operation({
    summary: 'List the webhooks of the account',
    description: 'Without their secrets.',
    asks: [listWebhooks],
    answer: {
      schema: envelopeSchema({ type: 'array', items: jsonSchemaOf(webhookView) }),
      example: success([webhookExample]),
    },
  })
  async listWebhooks(@CurrentContext() context: RequestContext) {
    const { webhooks } = await this.bus.request(listWebhooks, {}, context);
    return success(webhooks);
  }

  @Post('webhooks')
  @RequireScope('write', { owners: true })
  @Operation({
    summary: 'Have events sent to an address of yours',
    description:
      'Each event of GET /events from now on is sent by POST, as JSON, signed by Standard Webhooks, at least once and ' +
      'in no promised order. Answer 2xx within 15 seconds. Otherwise it is sent again after 5 seconds, 5 and 30 ' +
      'minutes, 2, 5, 10, 14, 20 and 24 hours; nothing for three days, or 410, disables the webhook, which is an ' +
      'event itself. The header webhook-id is the same whenever an event is sent again. At most 10 for an account.',
    asks: [createWebhook],
    body: {
      schema: createWebhook.input,
      examples: {
        everything: { url: 'https://hooks.seller.example/market' },
        chosen: {
          url: 'https://hooks.seller.example/market',
          event_types: ['sale', 'refund'],
          description: 'Bookkeeping',
        },
      },
    },
    idempotent: true,
    status: 201,
    answer: { schema: envelopeSchema(jsonSchemaOf(createWebhook.output)), example: success(createdWebhookExample) },
  })
  async createWebhook(
    @Body(bodyOf(createWebhook.input)) body: InputOf<typeof createWebhook>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const context = idempotentContext(request, body);
    const webhook = await this.bus.request(createWebhook, body, context);
    markReplay(context, reply);
    return success(webhook);
  }

  @Get('webhooks/:webhookId')
  @RequireScope('read', { owners: true })
  @Operation({
    summary: 'A webhook and how it is doing',
    description: 'Without its secret.',
    asks: [getWebhook],
    answer: webhookAnswer,
  })
  async getWebhook(@Param('webhookId') webhookId: string, @CurrentContext() context: RequestContext) {
    return success(await this.bus.request(getWebhook, { webhook_id: own(webhookId) }, context));
  }

  @Patch('webhooks/:webhookId')
  @RequireScope('write', { owners: true })
  @Operation({
    summary: 'Change, pause or enable a webhook',
    description: 'Fields left out stay as they are. What happened while it was not active is sent once it is.',
    asks: [updateWebhook],
    body: {
      schema: updateWebhookBody,
      examples: { pause: { status: 'paused' }, enable: { status: 'active' }, everything: { event_types: null } },
    },
    answer: webhookAnswer,
  })
  async updateWebhook(
    @Param('webhookId') webhookId: string,
    @Body(changesOf(updateWebhookBody)) body: z.output<typeof updateWebhookBody>,
    @CurrentContext() context: RequestContext,
  ) {
    return success(await this.bus.request(updateWebhook, { webhook_id: own(webhookId), ...body }, context));
  }

  @Delete('webhooks/:webhookId')
  @RequireScope('write', { owners: true })
  @Operation({
    summary: 'Delete a webhook',
    description: 'Nothing more is sent to it, and its deliveries are no longer shown.',
    asks: [deleteWebhook],
    answer: {
      schema: envelopeSchema(jsonSchemaOf(deleteWebhook.output)),
      example: success({ id: WEBHOOK_ID, deleted: true }),
    },
  })
  async deleteWebhook(@Param('webhookId') webhookId: string, @CurrentContext() context: RequestContext) {
    return success(await this.bus.request(deleteWebhook, { webhook_id: own(webhookId) }, context));
  }

  @Post('webhooks/:webhookId/rotate-secret')
  @RequireScope('write', { owners: true })
  @Operation({
    summary: "Rotate a webhook's secret",
    description:
      'The new secret is shown in this answer, and again only to the same API key under the same Idempotency-Key. ' +
      'While the old one overlaps, events carry both signatures.',
    asks: [rotateWebhookSecret],
    body: { schema: rotateSecretBody, examples: { at_once: { overlap_seconds: 0 } }, optional: true },
    idempotent: true,
    answer: {
      schema: envelopeSchema(jsonSchemaOf(rotateWebhookSecret.output)),
      example: success(rotatedWebhookExample),
    },
  })
  async rotateWebhookSecret(
    @Param('webhookId') webhookId: string,
    @Body(bodyOrNoneOf(rotateSecretBody)) body: z.output<typeof rotateSecretBody>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const context = idempotentContext(request, body);
    const rotated = await this.bus.request(rotateWebhookSecret, { webhook_id: own(webhookId), ...body }, context);
    markReplay(context, reply);
    return success(rotated);
  }

  @Post('webhooks/:webhookId/test')
  @RequireScope('write', { owners: true, waitsForSeller: true })
  @Operation({
    summary: 'Send a test event to a webhook',
    description:
      'An event of the type test, at once and only once, also while the webhook is paused or disabled. What became ' +
      'of it is in the answer. At most ten a minute for a webhook.',
    asks: [testWebhook],
    answer: { schema: envelopeSchema(jsonSchemaOf(testWebhook.output)), example: success(testedWebhookExample) },
  })
  async testWebhook(@Param('webhookId') webhookId: string, @CurrentContext() context: RequestContext) {
    return success(await this.bus.request(testWebhook, { webhook_id: own(webhookId) }, context));
  }

  @Get('webhooks/:webhookId/deliveries')
  @RequireScope('read', { owners: true })
  @Operation({
    summary: 'What was sent to a webhook, and is still to be sent',
    description: 'Newest first, kept for 30 days unless the operator says otherwise.',
    asks: [listWebhookDeliveries],
    query: deliveriesQuery,
    answer: {
      schema: pageSchema(jsonSchemaOf(webhookDelivery)),
      example: paginated([deliveryExample], 1, { page: 1, limit: 20 }),
    },
  })
  async listWebhookDeliveries(
    @Param('webhookId') webhookId: string,
    @Query() raw: object,
    @CurrentContext() context: RequestContext,
  ) {
    const query = readQuery(deliveriesQuery, raw);
    const asked = { webhook_id: own(webhookId), ...query };
    const { items, total, nextCursor } = await this.bus.request(listWebhookDeliveries, asked, context);
    return paginated(items, total, query, nextCursor);
  }

  @Post('webhook-deliveries/:deliveryId/replay')
  @RequireScope('write', { owners: true })
  @Operation({
    summary: 'Send an event to a webhook again',
    description:
      'Whatever became of it, and with the same webhook-id; if it fails, it is sent again as a new one is. One of a ' +
      'webhook that is not active waits until it is.',
    asks: [replayWebhookDelivery],
    answer: { schema: envelopeSchema(jsonSchemaOf(webhookDelivery)), example: success(deliveryExample) },
  })
  async replayWebhookDelivery(@Param('deliveryId') deliveryId: string, @CurrentContext() context: RequestContext) {
    const delivery_id = uuidOr(deliveryId, () => refuse(replayWebhookDelivery, 'delivery_not_found', {}));
    return success(await this.bus.request(replayWebhookDelivery, { delivery_id }, context));
  }
}

const own = (webhookId: string): string => uuidOr(webhookId, () => refuse(getWebhook, 'webhook_not_found', {}));
