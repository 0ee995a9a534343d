import { executeCall } from '@market/contracts/gateway';
import { askedPayment } from '@market/contracts/payments-ledger';
import { MessageBus, refuse } from '@market/messaging';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { Controller, Inject, Param, Post, Req, Res } from '@nestjs/common';
import { ApiExtension, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RequireScope } from '../http/access.js';
import { pathOf } from '../http/edge-request.js';
import { guidanceLinks } from '../http/error-body.js';
import { refOr } from '../http/values.js';
import { jsonSchemaOf, objectSchema } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { AnswerFiles } from './answer-files.js';
import { AnswerStreams } from './answer-streams.js';
import { ApiPending, ApiStreamPlace, callAnswer } from './call-answer.openapi.js';
import { ApiCallHeaders, readCallHeaders } from './call-headers.js';
import { callRequest, type PaymentRequiredOutcome } from './call-payment-required.js';
import { askedExample, x402Example } from './gateway.examples.js';
import { askToPay } from './payment-required.js';
import { ApiPaymentRequired, askedToPay, paymentRequired } from './payment-required.openapi.js';
import { readPayment } from './mpp.js';
import { CALL_RULES, contextOf, pendingIfLost, sendOutcome, sentBodyOf } from './send-answer.js';
import { signable } from './x402.js';
import { paymentInfo } from './gateway.openapi.js';

@ApiTags('Gateway')
@Controller('gateway')
export class ExecuteCallHttpController {
  private readonly links;
  private readonly publicUrl: string;

  constructor(
    private readonly bus: MessageBus,
    private readonly files: AnswerFiles,
    private readonly streams: AnswerStreams,
    @Inject(platformConfig.token) { publicUrl }: ConfigOf<typeof platformConfig>,
  ) {
    this.publicUrl = publicUrl;
    this.links = guidanceLinks(publicUrl);
  }

  /** The hottest route. It parses no body: it checks that JSON is UTF-8 and passes it on as text, and the rest as bytes. */
  @Post(':listingId')
  @RequireScope('subscribe', CALL_RULES)
  @Operation({
    summary: 'Call a listing, paying per call',
    description:
      'Without a relay request id a paid listing answers 402 with what to pay. Pay, then repeat the same body with ' +
      'the headers of `retry_headers`, or, with an x402 client, with PAYMENT-SIGNATURE, which is charged only once ' +
      "the seller has answered: 200 with the seller's answer, or 202 while the payment is not final. A completed " +
      'call repeats its stored answer byte for byte. The body is any JSON object the seller accepts, or bytes of a ' +
      'type that its request_formats name, which are forwarded as they come; a relay ' +
      'request id that is not 0x and 64 lower-case hex digits is 400, one that is unknown or of another buyer 404.',
    asks: [executeCall],
    body: { examples: { weather: { lat: 52.5, lon: 13.4 } } },
    idempotent: true,
    answer: callAnswer,
  })
  @ApiPending('A payment may be on its way, or the call is under way: `reason` says which. Repeat the same request.')
  @ApiPaymentRequired(
    askedToPay(
      objectSchema({ payment: jsonSchemaOf(askedPayment.extend({ x402: paymentRequired.nullable() })) }),
      callRequest({ outcome: 'payment_required', payment: askedExample }, x402Example),
      'Pay and repeat; or, for a plan whose calls are included in a period, POST /subscribe.',
      { mayLackData: true },
    ),
    'data.payment.x402',
  )
  @ApiCallHeaders()
  @ApiStreamPlace()
  @ApiExtension('x-payment-info', paymentInfo)
  async executeCall(
    @Param('listingId') listingId: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const callHeaders = readCallHeaders(request.headers);
    const { paymentIdentifier, payer, network, rejection, ...signature } = readPayment(
      request,
      this.publicUrl,
      callHeaders.relayRequestId,
    );
    const input = {
      listingRef: refOr(listingId, () => refuse(executeCall, 'listing_not_found', {})),
      ...sentBodyOf(request),
      ...callHeaders,
      ...signature,
    };
    const outcome = await this.bus
      .request(executeCall, input, contextOf(request, paymentIdentifier))
      .catch(pendingIfLost(input.relayRequestId));
    const views = { files: this.files, streams: this.streams, hasKey: true };
    if (outcome.outcome !== 'payment_required')
      return sendOutcome(outcome, views, { relayRequestId: input.relayRequestId, network }, request, reply);
    const url = `${this.publicUrl}${pathOf(request)}`;
    return this.askToPay({ ...outcome, rejection: outcome.rejection ?? rejection }, url, reply);
  }

  private askToPay(outcome: PaymentRequiredOutcome, url: string, reply: FastifyReply): void {
    const { payment, rejection } = outcome;
    const resource = { url, description: 'One call of this listing' };
    const x402 = signable(payment.x402, resource, reply, rejection?.reason);
    const failedOn = rejection?.at === 'settlement' ? payment.requirements.network : undefined;
    void reply.send(askToPay(callRequest(outcome, x402), this.links, reply, failedOn));
  }
}
