import type { InputOf } from '@market/contracts';
import {
  apiKeyView,
  createApiKey,
  getApiKey,
  listApiKeys,
  revokeApiKey,
  updateApiKey,
} from '@market/contracts/identity';
import { getSpending } from '@market/contracts/payments-ledger';
import { MessageBus, refuse, type RequestContext } from '@market/messaging';
import { Body, Controller, Delete, Get, Param, Patch, Post, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { RequireScope } from '../http/access.js';
import { bodyOf, changesOf } from '../http/body.js';
import { CurrentContext } from '../http/current-context.decorator.js';
import { success } from '../http/envelope.js';
import { idempotentContext, markReplay } from '../http/idempotency.js';
import { uuidOr } from '../http/values.js';
import { KEY_ID, LATER } from '../openapi/example-values.js';
import { envelopeSchema, jsonSchemaOf, objectSchema } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { budgetExample, createdKeyExample, spendingExample } from './identity.examples.js';
import { spendingOf, spendingSchema } from './spending.js';

const { key: _shownOnce, ...listedKey } = createdKeyExample;
const updateApiKeyBody = updateApiKey.input.omit({ key_id: true });

const keyWithSpending = {
  schema: envelopeSchema({
    allOf: [jsonSchemaOf(apiKeyView), objectSchema({ spending: spendingSchema })],
  }),
  example: success({ ...listedKey, budget: budgetExample, last_used_at: LATER, spending: spendingExample }),
};

@ApiTags('Identity')
@Controller('api-keys')
export class ApiKeysHttpController {
  constructor(private readonly bus: MessageBus) {}

  @Get()
  @RequireScope('read', { owners: true })
  @Operation({
    summary: 'List the API keys of the account',
    description: 'Metadata only; key_prefix is never a credential.',
    asks: [listApiKeys],
    answer: {
      schema: envelopeSchema({ type: 'array', items: jsonSchemaOf(apiKeyView) }),
      example: success([{ ...listedKey, last_used_at: LATER }]),
    },
  })
  async listApiKeys(@CurrentContext() context: RequestContext) {
    const { keys } = await this.bus.request(listApiKeys, {}, context);
    return success(keys);
  }

  @Post()
  @RequireScope('write', { owners: true })
  @Operation({
    summary: 'Create an API key',
    description:
      'The key is shown in this answer and never again. With a budget it spends no more than that; a key with a budget makes none.',
    asks: [createApiKey],
    body: {
      schema: createApiKey.input,
      examples: {
        narrow: { name: 'nightly planner', scopes: ['read', 'subscribe'] },
        budgeted: { name: 'weather at most', scopes: ['subscribe'], budget: { per_call_usd: 0.5, per_day_usd: 5 } },
      },
    },
    idempotent: true,
    status: 201,
    answer: { schema: envelopeSchema(jsonSchemaOf(createApiKey.output)), example: success(createdKeyExample) },
  })
  async createApiKey(
    @Body(bodyOf(createApiKey.input)) body: InputOf<typeof createApiKey>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const context = idempotentContext(request, body);
    const key = await this.bus.request(createApiKey, body, context);
    markReplay(context, reply);
    return success(key);
  }

  @Get(':keyId')
  @RequireScope('read', { owners: true })
  @Operation({
    summary: 'An API key, what it may spend and what it has spent',
    description: 'Its metadata and its budget, with what is spent and left of it.',
    asks: [getApiKey, getSpending],
    answer: keyWithSpending,
  })
  async getApiKey(@Param('keyId') keyId: string, @CurrentContext() context: RequestContext) {
    const id = uuidOr(keyId, () => refuse(getApiKey, 'api_key_not_found', {}));
    const key = await this.bus.request(getApiKey, { key_id: id }, context);
    return success({ ...key, spending: await spendingOf(this.bus, id, key.budget, context) });
  }

  @Patch(':keyId')
  @RequireScope('write', { owners: true })
  @Operation({
    summary: 'Set or remove the budget of an API key',
    description:
      'Holds everywhere within a second. Set by the owner, or with a key that has no budget itself; ' +
      'null removes it. What was spent under a budget before counts in the same day and month.',
    asks: [updateApiKey, getSpending],
    body: {
      schema: updateApiKeyBody,
      examples: { set: { budget: { per_call_usd: 0.5, per_day_usd: 5 } }, remove: { budget: null } },
    },
    answer: keyWithSpending,
  })
  async updateApiKey(
    @Param('keyId') keyId: string,
    @Body(changesOf(updateApiKeyBody)) body: z.output<typeof updateApiKeyBody>,
    @CurrentContext() context: RequestContext,
  ) {
    const id = uuidOr(keyId, () => refuse(updateApiKey, 'api_key_not_found', {}));
    const key = await this.bus.request(updateApiKey, { key_id: id, ...body }, context);
    return success({ ...key, spending: await spendingOf(this.bus, id, key.budget, context) });
  }

  @Delete(':keyId')
  @RequireScope('write', { owners: true })
  @Operation({
    summary: 'Revoke an API key',
    description: 'The key stops working everywhere within a second.',
    asks: [revokeApiKey],
    answer: {
      schema: envelopeSchema(jsonSchemaOf(revokeApiKey.output)),
      example: success({ id: KEY_ID, revoked: true }),
    },
  })
  async revokeApiKey(@Param('keyId') keyId: string, @CurrentContext() context: RequestContext) {
    const id = uuidOr(keyId, () => refuse(revokeApiKey, 'api_key_not_found', {}));
    return success(await this.bus.request(revokeApiKey, { key_id: id }, context));
  }
}
