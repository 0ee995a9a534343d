import { handleRelayWebhook } from '@market/contracts/payments-ledger';
import { MessageBus } from '@market/messaging';
import { Controller, Post, Req } from '@nestjs/common';
import { ApiHeader, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { Public } from '../http/access.js';
import { success } from '../http/envelope.js';
import { RELAY_REQUEST_ID } from '../openapi/example-values.js';
import { envelopeSchema, jsonSchemaOf } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';

const MAX_BODY_BYTES = 65_536;
const TIMESTAMP = 'X-Signature-Timestamp';
const SIGNATURE = 'X-Signature-SHA256';

@ApiTags('Payments')
@Controller('webhooks')
export class RelayWebhooksHttpController {
  constructor(private readonly bus: MessageBus) {}

  /** The body is passed on unchanged, because its signature covers every byte. */
  @Post('relay')
  @Public({ body: 'opaque', bodyLimitBytes: MAX_BODY_BYTES, rate: 'catalog' })
  @Operation({
    summary: 'Hear Relay of a payment it carries',
    description:
      'For Relay alone, which signs what it sends with the API key of this marketplace. It moves nothing by itself: ' +
      'Relay is asked at once where the payment stands.',
    asks: [handleRelayWebhook],
    body: {
      examples: {
        pending: {
          event: 'request.status.updated',
          timestamp: 1_790_000_000_000,
          data: { status: 'pending', requestId: RELAY_REQUEST_ID },
        },
      },
    },
    answer: { schema: envelopeSchema(jsonSchemaOf(handleRelayWebhook.output)), example: success({ received: true }) },
  })
  @ApiHeader({ name: TIMESTAMP, required: false, description: 'Unix time of sending.' })
  @ApiHeader({ name: SIGNATURE, required: false, description: 'HMAC-SHA256 of the time, a dot and the body, in hex.' })
  async handleRelayWebhook(@Req() request: FastifyRequest) {
    const webhook = {
      timestamp: headerOf(request, TIMESTAMP, 16),
      signature: headerOf(request, SIGNATURE, 64),
      body: (request.body as string | undefined) ?? '',
    };
    return success(await this.bus.request(handleRelayWebhook, webhook, request.context));
  }
}

/** Returns an empty text if the header is missing or too long; no signature matches it. */
function headerOf({ headers }: FastifyRequest, name: string, mostLength: number): string {
  const value = headers[name.toLowerCase()];
  return typeof value === 'string' && value.length <= mostLength ? value : '';
}
