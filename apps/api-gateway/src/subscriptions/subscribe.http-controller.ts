import type { InputOf } from '@market/contracts';
import { subscribe, subscriptionOffer, subscriptionView, verifyPayment } from '@market/contracts/payments-ledger';
import { isRefusal, MessageBus } from '@market/messaging';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { Body, Controller, Inject, Post, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { paymentRequired } from '../gateway/gateway.openapi.js';
import { RequireScope } from '../http/access.js';
import { bodyOf } from '../http/body.js';
import { success } from '../http/envelope.js';
import { guidanceLinks } from '../http/error-body.js';
import { idempotentContext, markReplay } from '../http/idempotency.js';
import { LISTING_ID } from '../openapi/example-values.js';
import { envelopeSchema, jsonSchemaOf, objectSchema, type JsonSchema } from '../openapi/json-schema.js';
import { ApiAnswer, Operation } from '../openapi/operation.decorator.js';
import { ERROR_SCHEMA_NAME, EXAMPLE_URL } from '../openapi/refusal-responses.js';
import { paymentRequiredBody } from './payment-required.js';
import {
  askToPay,
  ApiPaymentSignature,
  PAYMENT_REQUIRED_HEADER,
  sendPending,
  setPaymentResponse,
  verifySignature,
} from './signed-payment.js';
import {
  pendingPaymentExample,
  pendingPaymentSchema,
  publicOfferExample,
  subscriptionExample,
} from './subscriptions.examples.js';

export const publicOffer = subscriptionOffer.extend({ x402: paymentRequired.nullable() });
const offerProperties = jsonSchemaOf(publicOffer).properties as Record<string, JsonSchema>;
const paymentRequiredSchema: JsonSchema = {
  allOf: [
    { $ref: `#/components/schemas/${ERROR_SCHEMA_NAME}` },
    objectSchema({ data: objectSchema({ payment_required: { type: 'boolean', const: true }, ...offerProperties }) }),
  ],
};

@ApiTags('Subscriptions')
@Controller('subscribe')
export class SubscribeHttpController {
  private readonly links;
  private readonly url: string;

  constructor(
    private readonly bus: MessageBus,
    @Inject(platformConfig.token) { publicUrl }: ConfigOf<typeof platformConfig>,
  ) {
    this.links = guidanceLinks(publicUrl);
    this.url = `${publicUrl.replace(/\/+$/, '')}/api/v1/subscribe`;
  }

  @Post()
  @RequireScope('subscribe')
  @Operation({
    summary: 'Subscribe to a listing',
    description:
      'A listing that costs nothing is subscribed at once, with no end. One that is paid monthly or yearly ' +
      'answers 402 with the payment to make, the same as long as it can be paid; pay it and POST /payments/verify, ' +
      'or repeat the request with PAYMENT-SIGNATURE, which x402 clients do by themselves. usage_tiered is sold ' +
      'as its base fee, a month at a time. A paid subscription lasts one period and is not renewed by itself, ' +
      'since no funds are kept. Listings that are paid per call are not subscribed. An Idempotency-Key keeps a 201; ' +
      'a 402 tells where the payment stands now. A signature pays once: sent again, it is answered as the first time.',
    asks: [verifyPayment, subscribe],
    status: 201,
    body: {
      schema: subscribe.input,
      examples: { free: { listing_id: LISTING_ID }, paid_in_sol: { listing_id: LISTING_ID, origin_currency: 'SOL' } },
    },
    idempotent: true,
    answer: {
      schema: envelopeSchema(jsonSchemaOf(subscriptionView)),
      example: success(subscriptionExample),
      description: 'Subscribed.',
    },
  })
  @ApiAnswer(
    202,
    {
      schema: pendingPaymentSchema,
      example: pendingPaymentExample,
      description: 'Whether what was signed is settled is not known yet: repeat the same request.',
    },
    { 'Retry-After': { schema: { type: 'integer' } } },
  )
  @ApiAnswer(
    402,
    {
      schema: paymentRequiredSchema,
      example: paymentRequiredBody(publicOfferExample, guidanceLinks(EXAMPLE_URL)),
      description: 'Pay, then verify; or sign and repeat.',
    },
    PAYMENT_REQUIRED_HEADER,
  )
  @ApiPaymentSignature()
  async subscribe(
    @Body(bodyOf(subscribe.input)) body: InputOf<typeof subscribe>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const paid = await verifySignature(this.bus, body.listing_id, request).catch(rejectionOf);
    if (paid?.outcome === 'pending') return sendPending(paid, reply);
    if (paid?.outcome === 'completed') {
      setPaymentResponse(paid, reply);
      return success(paid.subscription);
    }
    const context = idempotentContext(request, body);
    const outcome = await this.bus.request(subscribe, body, context);
    markReplay(context, reply);
    if (outcome.outcome === 'subscribed') return success(outcome.subscription);
    reply.status(402);
    const offer = askToPay(outcome.payment, this.url, reply, paid?.reason);
    return paymentRequiredBody(offer, this.links, paid?.reason);
  }
}

/** A rejected payment is followed by a new 402, so the refusal is converted to an outcome. */
function rejectionOf(error: unknown): { outcome: 'rejected'; reason: string } {
  if (isRefusal(error, verifyPayment, 'payment_rejected'))
    return { outcome: 'rejected', reason: error.details.rejection as string };
  throw error;
}
