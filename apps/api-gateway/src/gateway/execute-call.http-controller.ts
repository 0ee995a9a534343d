import { executeCall } from '@market/contracts/gateway';
import { MessageBus, refuse } from '@market/messaging';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { Controller, Inject, Param, Post, Req, Res } from '@nestjs/common';
import { ApiExtension, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RequireScope } from '../http/access.js';
import { pathOf } from '../http/edge-request.js';
import { guidanceHeader, guidanceLinks } from '../http/error-body.js';
import { refOr } from '../http/values.js';
import { ApiAnswer, Operation } from '../openapi/operation.decorator.js';
import { paymentRequiredBody, type PaymentRequiredOutcome } from './call-answer.js';
import { ApiPending, callAnswer } from './call-answer.openapi.js';
import { ApiCallHeaders, readCallHeaders } from './call-headers.js';
import { offerExample, x402Example } from './gateway.examples.js';
import { readPaymentSignature } from './payment-signature.js';
import { contextOf, MAX_BODY_BYTES, pendingIfLost, sendAnswer, sendPending } from './send-answer.js';
import { headerOf, notSettledOf, paymentRequiredOf } from './x402.js';
import { paymentInfo, paymentRequiredSchema } from './gateway.openapi.js';

@ApiTags('Gateway')
@Controller('gateway')
export class ExecuteCallHttpController {
  private readonly links;
  private readonly guidance: string;
  private readonly publicUrl: string;

  constructor(
    private readonly bus: MessageBus,
    @Inject(platformConfig.token) { publicUrl }: ConfigOf<typeof platformConfig>,
  ) {
    this.publicUrl = publicUrl;
    this.links = guidanceLinks(publicUrl);
    this.guidance = guidanceHeader(this.links);
  }

  /** The hottest route. It parses no JSON: it checks that the body is UTF-8 and passes it on as text. */
  @Post(':listingId')
  @RequireScope('subscribe', { body: 'opaque', bodyLimitBytes: MAX_BODY_BYTES, waitsForSeller: true, rate: 'calls' })
  @Operation({
    summary: 'Call a listing, paying per call',
    description:
      'Without a relay request id a paid listing answers 402 with what to pay. Pay, then repeat the same body with ' +
      'the headers of `retry_headers`, or, with an x402 client, with PAYMENT-SIGNATURE, which is charged only once ' +
      "the seller has answered: 200 with the seller's answer, or 202 while the payment is not final. A completed " +
      'call repeats its stored answer byte for byte. The body is any JSON object the seller accepts; a relay ' +
      'request id that is not 0x and 64 lower-case hex digits is 400, one that is unknown or of another buyer 404.',
    asks: [executeCall],
    body: { examples: { weather: { lat: 52.5, lon: 13.4 } } },
    idempotent: true,
    answer: callAnswer,
  })
  @ApiPending('A payment may be on its way, or the call is under way: `reason` says which. Repeat the same request.')
  @ApiAnswer(
    402,
    {
      schema: paymentRequiredSchema,
      example: paymentRequiredBody(
        { outcome: 'payment_required', payment: offerExample },
        x402Example,
        guidanceLinks('https://market.example'),
      ),
      description: 'Pay and repeat.',
    },
    {
      'PAYMENT-REQUIRED': {
        description: 'data.payment.x402 in base64, for stock x402 clients; absent where the route takes none.',
        schema: { type: 'string' },
      },
    },
  )
  @ApiCallHeaders()
  @ApiExtension('x-payment-info', paymentInfo)
  async executeCall(
    @Param('listingId') listingId: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const callHeaders = readCallHeaders(request.headers);
    const { paymentIdentifier, payer, ...signature } =
      readPaymentSignature(request.headers, callHeaders.relayRequestId) ?? {};
    const input = {
      listingRef: refOr(listingId, () => refuse(executeCall, 'listing_not_found', {})),
      body: (request.body as string | undefined) ?? '',
      ...callHeaders,
      ...signature,
    };
    const outcome = await this.bus
      .request(executeCall, input, contextOf(request, paymentIdentifier))
      .catch(pendingIfLost(input.relayRequestId));
    switch (outcome.outcome) {
      case 'answered':
        return sendAnswer(outcome, reply);
      case 'pending':
        return sendPending(outcome, reply);
      case 'payment_required':
        return this.askToPay(outcome, `${this.publicUrl}${pathOf(request)}`, reply);
    }
  }

  /** Puts the payment into the body, and into headers for stock x402 clients. */
  private askToPay(outcome: PaymentRequiredOutcome, url: string, reply: FastifyReply): void {
    const { payment, rejection } = outcome;
    const x402 =
      payment.x402 &&
      paymentRequiredOf([payment.x402], { url, description: 'One call of this listing' }, rejection?.reason);
    if (x402) reply.header('payment-required', headerOf(x402));
    if (rejection?.at === 'settlement')
      reply.header('payment-response', headerOf(notSettledOf(rejection.reason, payment.requirements.network)));
    reply
      .status(402)
      .header('link', this.guidance)
      .send(paymentRequiredBody(outcome, x402, this.links));
  }
}
