import type { InputOf } from '@market/contracts';
import { subscribe, subscriptionOffer, subscriptionView, verifyPayment } from '@market/contracts/payments-ledger';
import { isRefusal, MessageBus } from '@market/messaging';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { Body, Controller, Inject, Post, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { askToPay } from '../gateway/payment-required.js';
import { ApiPaymentRequired, askedToPay, paymentRequired } from '../gateway/payment-required.openapi.js';
import { RequireScope } from '../http/access.js';
import { bodyOf } from '../http/body.js';
import { success } from '../http/envelope.js';
import { guidanceLinks } from '../http/error-body.js';
import { idempotentContext, markReplay } from '../http/idempotency.js';
import { LISTING_ID } from '../openapi/example-values.js';
import { envelopeSchema, jsonSchemaOf, objectSchema, type JsonSchema } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { ApiPending, notPaidYet, setPaymentResponse, toSign, verifySignature } from './signed-payment.js';
import { subscriptionRequest } from './subscription-payment-required.js';
import { publicOfferExample, subscriptionExample } from './subscriptions.examples.js';

export const publicOffer = subscriptionOffer.extend({ x402: paymentRequired.nullable() });
const offerProperties = jsonSchemaOf(publicOffer).properties as Record<string, JsonSchema>;

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
    this.url = `${publicUrl}/api/v1/subscribe`;
  }

  @Post()
  @RequireScope('subscribe')
  @Operation({
    summary: 'Subscribe to a listing',
    description:
      'A listing that costs nothing is subscribed at once, with no end. One that is paid monthly or yearly ' +
      'answers 402 with the payment to make, the same as long as it can be paid; pay it and POST /payments/verify, ' +
      'or repeat the request with PAYMENT-SIGNATURE, which x402 clients do by themselves. usage_tiered is sold ' +
      'a month at a time, with its included_units. A paid subscription lasts one period and is not renewed by itself, ' +
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
  @ApiPending('Whether what was signed is settled is not known yet: repeat the same request.')
  @ApiPaymentRequired(
    askedToPay(
      objectSchema({ payment_required: { type: 'boolean', const: true }, ...offerProperties }),
      subscriptionRequest(publicOfferExample),
      'Pay, then verify; or sign and repeat.',
    ),
    'data.x402',
  )
  async subscribe(
    @Body(bodyOf(subscribe.input)) body: InputOf<typeof subscribe>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const paid = await verifySignature(this.bus, body.listing_id, request, this.url).catch(rejectionOf);
    if (paid?.outcome === 'pending') return notPaidYet(paid, request, reply);
    if (paid?.outcome === 'completed') {
      setPaymentResponse(paid, reply);
      return success(paid.subscription);
    }
    const context = idempotentContext(request, body);
    const outcome = await this.bus.request(subscribe, body, context);
    markReplay(context, reply);
    if (outcome.outcome === 'subscribed') return success(outcome.subscription);
    const offer = toSign(outcome.payment, this.url, reply, paid?.reason);
    return askToPay(subscriptionRequest(offer, paid?.reason), this.links, reply);
  }
}

/** A rejected payment is followed by a new 402, so the refusal is converted to an outcome. */
function rejectionOf(error: unknown): { outcome: 'rejected'; reason: string } {
  if (isRefusal(error, verifyPayment, 'payment_rejected'))
    return { outcome: 'rejected', reason: error.details.rejection as string };
  throw error;
}
