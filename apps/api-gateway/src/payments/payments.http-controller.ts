import type { InputOf } from '@market/contracts';
import {
  completedPayment,
  createPayment,
  getPayment,
  paymentView,
  subscriptionView,
  verifyPayment,
} from '@market/contracts/payments-ledger';
import { MessageBus, refuse, type RequestContext } from '@market/messaging';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { Body, Controller, Get, Inject, Param, Post, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { RequireScope } from '../http/access.js';
import { bodyOf } from '../http/body.js';
import { CurrentContext } from '../http/current-context.decorator.js';
import { success } from '../http/envelope.js';
import { idempotentContext, markReplay } from '../http/idempotency.js';
import { uuidOr } from '../http/values.js';
import { LISTING_ID, PAYMENT_ID, RELAY_REQUEST_ID } from '../openapi/example-values.js';
import { envelopeSchema, jsonSchemaOf, objectSchema } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { readVerifyPayment, verifyPaymentBody } from './verify-payment-body.js';
import { ApiPaymentSignature, paymentRequiredHeaderOf } from '../gateway/payment-required.openapi.js';
import {
  ApiPending,
  notPaidYet,
  setPaymentResponse,
  toSign,
  verifySignature,
} from '../subscriptions/signed-payment.js';
import { publicOffer } from '../subscriptions/subscribe.http-controller.js';
import {
  paymentExample,
  publicOfferExample,
  subscriptionOfferExample,
  verifiedExample,
} from '../subscriptions/subscriptions.examples.js';

const verifiedSchema = envelopeSchema(
  objectSchema({ subscription: jsonSchemaOf(subscriptionView), payment: jsonSchemaOf(completedPayment) }),
);
const { transaction_hash, completed_at } = completedPayment.shape;
const offerOrPaid = publicOffer.extend({
  transaction_hash: transaction_hash.optional(),
  completed_at: completed_at.optional(),
});
const { subscription, payment } = verifiedExample;
const {
  network,
  amount_base_units: amount,
  depositAddress: payTo,
  relayRequestId,
} = subscriptionOfferExample.requirements;
const payloadExample = {
  x402Version: 2,
  accepted: { network, amount, payTo, extra: { relayRequestId } },
  payload: { outcome: 'paid' },
};

/** Payments for subscriptions. Payments of gateway calls are created by the gateway and only shown here. */
@ApiTags('Payments')
@Controller('payments')
export class PaymentsHttpController {
  private readonly url: string;

  constructor(
    private readonly bus: MessageBus,
    @Inject(platformConfig.token) { publicUrl }: ConfigOf<typeof platformConfig>,
  ) {
    this.url = `${publicUrl}/api/v1/payments`;
  }

  @Post()
  @RequireScope('subscribe')
  @Operation({
    summary: 'Get the payment of a subscription',
    description:
      'That which POST /subscribe named, as long as it can be paid, or a new one in the preferred currency ' +
      'of the seller. With PAYMENT-SIGNATURE that payment is settled, the subscription starts, and the answer ' +
      'is the completed payment.',
    asks: [verifyPayment, createPayment],
    body: { schema: createPayment.input, examples: { listing: { listing_id: LISTING_ID } } },
    idempotent: true,
    answer: {
      schema: envelopeSchema(jsonSchemaOf(offerOrPaid)),
      example: success(publicOfferExample),
      description: 'Pay this, then verify; or sign it and repeat. With a signature: paid.',
      headers: paymentRequiredHeaderOf('data.x402'),
    },
  })
  @ApiPending('The payment is not final yet.')
  @ApiPaymentSignature()
  async createPayment(
    @Body(bodyOf(createPayment.input)) body: InputOf<typeof createPayment>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const paid = await verifySignature(this.bus, body.listing_id, request, this.url);
    if (paid?.outcome === 'pending') return notPaidYet(paid, request, reply);
    if (paid) {
      setPaymentResponse(paid, reply);
      return success({ ...paid.payment, provider: paid.provider, x402: null });
    }
    const context = idempotentContext(request, body);
    const offer = await this.bus.request(createPayment, body, context);
    markReplay(context, reply);
    return success(toSign(offer, this.url, reply));
  }

  @Post('verify')
  @RequireScope('subscribe')
  @Operation({
    summary: 'Verify a payment and start its subscription',
    description:
      'Looks whether the money came: 200 with the subscription it started, the same answer however often it ' +
      'is asked; 202 while it may be on its way: `reason` says what was seen. What is known not to be paid, ' +
      'or came too little, too late or twice is 400 or 409 with what to do; money that bought nothing is owed back, ' +
      'as GET /ledger and GET /payments/{paymentId} show.',
    asks: [verifyPayment],
    body: {
      schema: verifyPaymentBody,
      examples: {
        by_relay_request_id: { payment_id: PAYMENT_ID, relay_request_id: RELAY_REQUEST_ID },
        by_payload: { payment_id: PAYMENT_ID, payload: payloadExample },
      },
    },
    answer: {
      schema: verifiedSchema,
      example: success({ subscription, payment }),
      description: 'Paid, and subscribed.',
    },
  })
  @ApiPending('The payment is not final yet.')
  async verifyPayment(
    @Body(bodyOf(verifyPaymentBody)) body: z.output<typeof verifyPaymentBody>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const result = await this.bus.request(verifyPayment, readVerifyPayment(body), request.context);
    if (result.outcome === 'pending') return notPaidYet(result, request, reply);
    setPaymentResponse(result, reply);
    return success({ subscription: result.subscription, payment: result.payment });
  }

  @Get(':paymentId')
  @RequireScope('read', { owners: true })
  @Operation({
    summary: 'Where a payment stands',
    description:
      'Of a subscription or of a gateway call, for its buyer. As last seen: POST /payments/verify looks anew.',
    asks: [getPayment],
    answer: { schema: envelopeSchema(jsonSchemaOf(paymentView)), example: success(paymentExample) },
  })
  async getPayment(@Param('paymentId') paymentId: string, @CurrentContext() context: RequestContext) {
    const id = uuidOr(paymentId, () => refuse(getPayment, 'payment_not_found', {}));
    return success(await this.bus.request(getPayment, { payment_id: id }, context));
  }
}
