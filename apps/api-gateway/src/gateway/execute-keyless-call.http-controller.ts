import { executeKeylessCall } from '@market/contracts/gateway';
import { keylessOffer } from '@market/contracts/payments-ledger';
import type { OutputOf } from '@market/contracts';
import { invariant } from '@market/kernel';
import { MessageBus, refuse } from '@market/messaging';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { Controller, Get, Inject, Param, Post, Req, Res } from '@nestjs/common';
import { ApiExtension, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../http/access.js';
import { requestInvalid } from '../http/edge-refusals.js';
import { guidanceLinks } from '../http/error-body.js';
import { carriesSignature } from '../http/payment-headers.js';
import { RateLimiter } from '../http/rate-limiter.js';
import { refOr } from '../http/values.js';
import { jsonSchemaOf, objectSchema } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { bazaarOf, callUrl, serviceNameOf } from '../x402/bazaar-resource.js';
import { AnswerFiles } from './answer-files.js';
import { AnswerStreams } from './answer-streams.js';
import { ApiPending, ApiStreamPlace, callAnswer } from './call-answer.openapi.js';
import { readCallHeaders } from './call-headers.js';
import { keylessRequest } from './call-payment-required.js';
import { keylessExample, keylessOfferExample } from './gateway.examples.js';
import { paymentInfo } from './gateway.openapi.js';
import { readPayment } from './mpp.js';
import { signedOffers } from './offer-receipt.js';
import { askToPay } from './payment-required.js';
import { ApiPaymentRequired, askedToPay, keylessRequired } from './payment-required.openapi.js';
import { PAYMENT_SIGNATURE } from './payment-signature.js';
import { CALL_RULES, contextOf, pendingIfLost, sendOutcome, sentBodyOf } from './send-answer.js';
import { paymentRequiredOf, sendRequirements } from './x402.js';

type Unpaid = Extract<OutputOf<typeof executeKeylessCall>, { outcome: 'payment_required' }>;

const toSign = askedToPay(
  objectSchema({ payment: jsonSchemaOf(keylessOffer.extend({ x402: keylessRequired })) }),
  keylessRequest(
    { outcome: 'payment_required', listing: { name: '', slug: '' }, offers: [keylessOfferExample], signatures: [] },
    keylessExample,
  ),
  'Sign and repeat.',
);

/** Calls of listings for x402 clients and indexers without an API key. */
@ApiTags('Gateway')
@Controller('x402')
export class ExecuteKeylessCallHttpController {
  private readonly links;
  private readonly publicUrl: string;

  constructor(
    private readonly bus: MessageBus,
    private readonly files: AnswerFiles,
    private readonly streams: AnswerStreams,
    private readonly limiter: RateLimiter,
    @Inject(platformConfig.token) { publicUrl }: ConfigOf<typeof platformConfig>,
  ) {
    this.publicUrl = publicUrl;
    this.links = guidanceLinks(publicUrl);
  }

  @Post(':listingId')
  @Public(CALL_RULES)
  @Operation({
    summary: 'Call a listing without a key, paying with x402',
    description:
      'Answers 402 with what to sign, and in error.details.body why a call with this body would be refused; ' +
      'nothing is stored until a PAYMENT-SIGNATURE comes. The wallet that signed ' +
      'is the buyer: the call, its receipt and a later registration of that wallet belong to one account. ' +
      'The signature is charged only once the seller has answered. Repeating it repeats the stored answer; ' +
      'another body with it is 409. Counted by address, and by the wallet that signed while they are under way.',
    asks: [executeKeylessCall],
    body: { examples: { weather: { lat: 52.5, lon: 13.4 } } },
    idempotent: true,
    answer: callAnswer,
  })
  @ApiPending(
    'The call is under way, or whether it is charged is not known yet: sign nothing again, repeat the same request. ' +
      'While a signature of a wallet is unsettled, or its call is not answered, another one for the same listing and ' +
      'body is not taken: that request gets the outcome of the first.',
  )
  @ApiPaymentRequired(toSign, 'data.payment.x402')
  @ApiStreamPlace()
  @ApiExtension('x-payment-info', paymentInfo)
  async executeKeylessCall(
    @Param('listingId') listingId: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { paymentIdentifier, relayRequestId, authorization, payer, network, rejection } = readPayment(
      request,
      this.publicUrl,
    );
    if (payer !== undefined) await this.limiter.acquireForPayer(request, payer);
    const input = { listingRef: refOf(listingId), ...sentBodyOf(request), authorization };
    const outcome = await this.bus
      .request(executeKeylessCall, input, contextOf(request, paymentIdentifier))
      .catch(pendingIfLost(relayRequestId));
    const views = { files: this.files, streams: this.streams, hasKey: false };
    if (outcome.outcome !== 'payment_required')
      return sendOutcome(outcome, views, { relayRequestId, network }, request, reply);
    return this.askToPay({ ...outcome, rejection: outcome.rejection ?? rejection }, request, reply);
  }

  @Get(':listingId')
  @Public({ rate: 'calls' })
  @Operation({
    summary: 'See what a call without a key costs',
    description:
      "The 402 of the POST, for indexers that only read. The call itself is a POST. A browser shows the listing's page.",
    asks: [executeKeylessCall],
    status: 402,
    answer: toSign,
  })
  async showPrice(
    @Param('listingId') listingId: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    if (carriesSignature(request.headers))
      throw requestInvalid([
        { field: PAYMENT_SIGNATURE, message: 'pays a call, which is a POST of its JSON body to this path' },
      ]);
    const listingRef = refOf(listingId);
    const outcome = await this.bus.request(executeKeylessCall, { listingRef, body: '' }, request.context);
    invariant(outcome.outcome === 'payment_required', 'what comes without a signature is asked to pay');
    this.askToPay(outcome, request, reply);
  }

  private askToPay(outcome: Unpaid, request: FastifyRequest, reply: FastifyReply): void {
    const { listing, offers, signatures, rejection, reason } = outcome;
    const url = callUrl(this.publicUrl, listing);
    const resource = {
      url,
      description: `One call of ${listing.name}`,
      ...serviceNameOf(listing.name),
    };
    const x402 = sendRequirements(
      paymentRequiredOf(
        offers.map((offer) => offer.x402),
        resource,
        rejection?.reason ?? reason,
        { bazaar: bazaarOf(schemasOf(listing)), ...signedOffers(signatures) },
      ),
      reply,
      readCallHeaders(request.headers).originChainId,
    );
    const failedOn = rejection?.at === 'settlement' ? offers[0]!.requirements.network : undefined;
    const body = askToPay(keylessRequest(outcome, x402), this.links, reply, failedOn);
    // Indexers accept what browsers accept, so a browser gets the price, too, and then shows the listing's page.
    if (request.method === 'GET' && request.headers.accept?.includes('text/html'))
      void reply.type('text/html; charset=utf-8').send(pageOf(listing.slug));
    else void reply.send(body);
  }
}

const pageOf = (slug: string): string =>
  `<!doctype html><meta http-equiv="refresh" content="0;url=/listings/${slug}"><a href="/listings/${slug}">${slug}</a>`;

function schemasOf({ inputSchema, exampleInput, outputSchema }: Unpaid['listing']): Parameters<typeof bazaarOf>[0] {
  const read = (text?: string | null) => (text ? (JSON.parse(text) as Record<string, unknown>) : null);
  return { input_schema: read(inputSchema), example_input: read(exampleInput), output_schema: read(outputSchema) };
}

const refOf = (listingId: string): string =>
  refOr(listingId, () => refuse(executeKeylessCall, 'listing_not_found', {}));
