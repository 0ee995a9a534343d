import {
  endpointView,
  getEndpoint,
  rotateEndpointSecret,
  testEndpoint,
  updateEndpoint,
} from '@market/contracts/gateway';
import { MessageBus, refuse, type RequestContext } from '@market/messaging';
import { Body, Controller, Get, Param, Post, Put, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { RequireScope } from '../http/access.js';
import { bodyOrNoneOf, changesOf } from '../http/body.js';
import { CurrentContext } from '../http/current-context.decorator.js';
import { JSON_TYPE, success, successOfJson } from '../http/envelope.js';
import { idempotentContext, markReplay } from '../http/idempotency.js';
import { uuidOr } from '../http/values.js';
import { envelopeSchema, jsonSchemaOf, objectSchema, type JsonSchema } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { endpointExample, rotatedExample, testExample } from './endpoints.examples.js';

const updateEndpointBody = updateEndpoint.input.omit({ listing_id: true });
const testEndpointBody = testEndpoint.input.omit({ listing_id: true });
const rotateSecretBody = rotateEndpointSecret.input.omit({ listing_id: true });

const { seller_response_json: _asText, ...testProperties } = jsonSchemaOf(testEndpoint.output).properties as Record<
  string,
  JsonSchema
>;
const testSchema = envelopeSchema(
  objectSchema({ ...testProperties, seller_response: { description: 'The JSON the seller gave, or null.' } }),
);

@ApiTags('Gateway')
@Controller('listings/:listingId/endpoint')
export class EndpointsHttpController {
  constructor(private readonly bus: MessageBus) {}

  @Get()
  @RequireScope('read', { owners: true })
  @Operation({
    summary: 'See the private endpoint of an own listing',
    description: 'Without its path, its credentials or its secret.',
    asks: [getEndpoint],
    answer: { schema: envelopeSchema(jsonSchemaOf(endpointView)), example: success(endpointExample) },
  })
  async getEndpoint(@Param('listingId') listingId: string, @CurrentContext() context: RequestContext) {
    return success(await this.bus.request(getEndpoint, { listing_id: ownListing(listingId) }, context));
  }

  @Put()
  @RequireScope('write', { owners: true })
  @Operation({
    summary: 'Change the private endpoint of an own listing',
    description:
      'Fields left out stay as they are. `status: active` ends a pause; an endpoint that is failing becomes active ' +
      'by delivering a call or passing a test, and one at another URL is unverified again.',
    asks: [updateEndpoint],
    body: {
      schema: updateEndpointBody,
      examples: {
        credentials: { auth_header: { name: 'X-Api-Key', value: 'secret-of-the-seller' }, timeout_ms: 20_000 },
        pause: { status: 'paused' },
      },
    },
    answer: { schema: envelopeSchema(jsonSchemaOf(endpointView)), example: success(endpointExample) },
  })
  async updateEndpoint(
    @Param('listingId') listingId: string,
    @Body(changesOf(updateEndpointBody)) body: z.output<typeof updateEndpointBody>,
    @CurrentContext() context: RequestContext,
  ) {
    return success(await this.bus.request(updateEndpoint, { listing_id: ownListing(listingId), ...body }, context));
  }

  @Post('test')
  @RequireScope('write', { owners: true, waitsForSeller: true })
  @Operation({
    summary: 'Send a signed test call to the private endpoint',
    description:
      'At most ten a minute for a listing. Its outcome is in the answer, also when the endpoint fails. ' +
      'A passing test makes an unverified or failing endpoint active.',
    asks: [testEndpoint],
    body: { schema: testEndpointBody, examples: { own_body: { body: { lat: 59.9, lon: 10.7 } } }, optional: true },
    idempotent: true,
    answer: { schema: testSchema, example: success(testExample) },
  })
  async testEndpoint(
    @Param('listingId') listingId: string,
    @Body(bodyOrNoneOf(testEndpointBody)) body: z.output<typeof testEndpointBody>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const context = idempotentContext(request, body);
    const { seller_response_json: sellerResponse, ...outcome } = await this.bus.request(
      testEndpoint,
      { listing_id: ownListing(listingId), ...body },
      context,
    );
    markReplay(context, reply);
    reply.type(JSON_TYPE);
    return successOfJson(`${JSON.stringify(outcome).slice(0, -1)},"seller_response":${sellerResponse ?? 'null'}}`);
  }

  @Post('rotate-secret')
  @RequireScope('write', { owners: true })
  @Operation({
    summary: 'Rotate the signing secret',
    description:
      'The new secret is shown in this answer, and again only to the same API key under the same Idempotency-Key. ' +
      'While the old one overlaps, calls carry both signatures.',
    asks: [rotateEndpointSecret],
    body: { schema: rotateSecretBody, examples: { at_once: { overlap_seconds: 0 } }, optional: true },
    idempotent: true,
    answer: { schema: envelopeSchema(jsonSchemaOf(rotateEndpointSecret.output)), example: success(rotatedExample) },
  })
  async rotateSecret(
    @Param('listingId') listingId: string,
    @Body(bodyOrNoneOf(rotateSecretBody)) body: z.output<typeof rotateSecretBody>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const context = idempotentContext(request, body);
    const rotated = await this.bus.request(
      rotateEndpointSecret,
      { listing_id: ownListing(listingId), ...body },
      context,
    );
    markReplay(context, reply);
    return success(rotated);
  }
}

const ownListing = (listingId: string): string =>
  uuidOr(listingId, () => refuse(getEndpoint, 'endpoint_not_found', {}));
