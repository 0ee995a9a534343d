import { executeKeylessCall } from '@market/contracts/gateway';
import type { OutputOf } from '@market/contracts';
import { invariant } from '@market/kernel';
import { MessageBus, refuse } from '@market/messaging';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { Controller, Get, Inject, Param, Post, Req, Res } from '@nestjs/common';
import { ApiExtension, ApiHeader, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../http/access.js';
import { requestInvalid } from '../http/edge-refusals.js';
import { guidanceHeader, guidanceLinks } from '../http/error-body.js';
import { RateLimiter } from '../http/rate-limiter.js';
import { refOr } from '../http/values.js';
import { ApiAnswer, Operation } from '../openapi/operation.decorator.js';
import { bazaarOf, callUrl, serviceNameOf } from '../x402/bazaar-resource.js';
import { keylessRequiredBody } from './call-answer.js';
import { ApiPending, callAnswer } from './call-answer.openapi.js';
import { keylessExample, keylessOfferExample } from './gateway.examples.js';
import { keylessRequiredSchema, paymentInfo } from './gateway.openapi.js';
import { signedOffers } from './offer-receipt.js';
import { PAYMENT_SIGNATURE, readPaymentSignature } from './payment-signature.js';
import { contextOf, MAX_BODY_BYTES, pendingIfLost, sendAnswer, sendPending } from './send-answer.js';
import { headerOf, notSettledOf, paymentRequiredOf } from './x402.js';

type Unpaid = Extract<OutputOf<typeof executeKeylessCall>, { outcome: 'payment_required' }>;

/** The limit in characters of JSON. Servers and proxies commonly accept at least 8 KiB of headers. */
const MAX_IN_HEADER = 2_048;

const toSign = {
  schema: keylessRequiredSchema,
  example: keylessRequiredBody(
    {
      outcome: 'payment_required',
      listing: { name: '', slug: '' },
      offers: [keylessOfferExample],
      signatures: [],
    },
    keylessExample,
    guidanceLinks('https://market.example'),
  ),
  description: 'Sign and repeat. PAYMENT-REQUIRED is data.payment.x402 in base64.',
};

/** Calls of listings for x402 clients and indexers without an API key. */
@ApiTags('Gateway')
@Controller('x402')
export class ExecuteKeylessCallHttpController {
  private readonly links;
  private readonly guidance: string;
  private readonly publicUrl: string;

  constructor(
    private readonly bus: MessageBus,
    private readonly limiter: RateLimiter,
    @Inject(platformConfig.token) { publicUrl }: ConfigOf<typeof platformConfig>,
  ) {
    this.publicUrl = publicUrl.replace(/\/+$/, '');
    this.links = guidanceLinks(publicUrl);
    this.guidance = guidanceHeader(this.links);
  }

  @Post(':listingId')
  @Public({ body: 'opaque', bodyLimitBytes: MAX_BODY_BYTES, waitsForSeller: true, rate: 'calls' })
  @Operation({
    summary: 'Call a listing without a key, paying with x402',
    description:
      "Answers 402 with what to sign, unless the body does not fit the listing's input_schema (an empty one " +
      'asks for the price alone); nothing is stored until a PAYMENT-SIGNATURE comes. The wallet that signed ' +
      'is the buyer: the call, its receipt and a later registration of that wallet belong to one account. ' +
      'The signature is charged only once the seller has answered. Repeating it repeats the stored answer; ' +
      'another body with it is 409. Counted by address, and by the wallet that signed while they are under way.',
    asks: [executeKeylessCall],
    body: { examples: { weather: { lat: 52.5, lon: 13.4 } } },
    idempotent: true,
    answer: callAnswer,
  })
  @ApiPending(
    'The call is under way, or whether it is charged is not known yet: repeat the same request, with the same signature.',
  )
  @ApiAnswer(402, toSign, {
    'PAYMENT-REQUIRED': { description: 'data.payment.x402 in base64.', schema: { type: 'string' } },
  })
  @ApiHeader({
    name: PAYMENT_SIGNATURE,
    required: false,
    description: 'An x402 version 2 payment of one of the accepts of the 402, in base64.',
  })
  @ApiExtension('x-payment-info', paymentInfo)
  async executeKeylessCall(
    @Param('listingId') listingId: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { paymentIdentifier, relayRequestId, authorization, payer } = readPaymentSignature(request.headers) ?? {};
    if (payer !== undefined) await this.limiter.acquireForPayer(request, payer);
    const input = { listingRef: refOf(listingId), body: (request.body as string | undefined) ?? '', authorization };
    const outcome = await this.bus
      .request(executeKeylessCall, input, contextOf(request, paymentIdentifier))
      .catch(pendingIfLost(relayRequestId));
    switch (outcome.outcome) {
      case 'answered':
        return sendAnswer(outcome, reply);
      case 'pending':
        return sendPending(outcome, reply);
      case 'payment_required':
        return this.askToPay(outcome, reply);
    }
  }

  @Get(':listingId')
  @Public({ rate: 'calls' })
  @Operation({
    summary: 'See what a call without a key costs',
    description:
      "The 402 of the POST, for indexers that only read. The call itself is a POST. A browser is sent to the listing's page.",
    asks: [executeKeylessCall],
    status: 402,
    answer: toSign,
  })
  @ApiResponse({ status: 303, description: "To who accepts text/html: the listing's page." })
  async showPrice(
    @Param('listingId') listingId: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    if (request.headers['payment-signature'] !== undefined)
      throw requestInvalid([
        { field: PAYMENT_SIGNATURE, message: 'pays a call, which is a POST of its JSON body to this path' },
      ]);
    const listingRef = refOf(listingId);
    if (request.headers.accept?.includes('text/html')) {
      void reply.redirect(`/listings/${encodeURIComponent(listingId)}`, 303);
      return;
    }
    const outcome = await this.bus.request(executeKeylessCall, { listingRef, body: '' }, request.context);
    invariant(outcome.outcome === 'payment_required', 'what comes without a signature is asked to pay');
    this.askToPay(outcome, reply);
  }

  private askToPay(outcome: Unpaid, reply: FastifyReply): void {
    const { listing, offers, signatures, rejection, reason } = outcome;
    const url = callUrl(this.publicUrl, listing);
    const resource = {
      url,
      description: `One call of ${listing.name}`,
      ...serviceNameOf(listing.name),
    };
    const x402 = paymentRequiredOf(
      offers.map((offer) => offer.x402),
      resource,
      rejection?.reason ?? reason,
      { bazaar: bazaarOf(shownInHeader(listing)), ...signedOffers(signatures) },
    );
    reply.header('payment-required', headerOf(x402));
    if (rejection?.at === 'settlement')
      reply.header('payment-response', headerOf(notSettledOf(rejection.reason, offers[0]!.requirements.network)));
    void reply
      .status(402)
      .header('link', this.guidance)
      .send(keylessRequiredBody(outcome, x402, this.links));
  }
}

/**
 * Returns the input schema and the example if they are short enough, because PAYMENT-REQUIRED is also sent as a header.
 */
function shownInHeader({ inputSchema, exampleInput }: Unpaid['listing']): Parameters<typeof bazaarOf>[0] {
  const fits = (inputSchema?.length ?? 0) + (exampleInput?.length ?? 0) <= MAX_IN_HEADER;
  const read = (text?: string | null) => (text && fits ? (JSON.parse(text) as Record<string, unknown>) : null);
  return { input_schema: read(inputSchema), example_input: read(exampleInput) };
}

const refOf = (listingId: string): string =>
  refOr(listingId, () => refuse(executeKeylessCall, 'listing_not_found', {}));
