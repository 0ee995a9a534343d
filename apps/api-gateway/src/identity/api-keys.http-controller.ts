import type { InputOf } from '@market/contracts';
import { apiKeyView, createApiKey, listApiKeys, revokeApiKey } from '@market/contracts/identity';
import { MessageBus, refuse, type RequestContext } from '@market/messaging';
import { Body, Controller, Delete, Get, Param, Post, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RequireScope } from '../http/access.js';
import { bodyOf } from '../http/body.js';
import { CurrentContext } from '../http/current-context.decorator.js';
import { success } from '../http/envelope.js';
import { idempotentContext, markReplay } from '../http/idempotency.js';
import { uuidOr } from '../http/values.js';
import { KEY_ID, LATER } from '../openapi/example-values.js';
import { envelopeSchema, jsonSchemaOf } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { createdKeyExample } from './identity.examples.js';

const { key: _shownOnce, ...listedKey } = createdKeyExample;

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
    description: 'The key is shown in this answer and never again.',
    asks: [createApiKey],
    body: {
      schema: createApiKey.input,
      examples: { narrow: { name: 'nightly planner', scopes: ['read', 'subscribe'] } },
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
