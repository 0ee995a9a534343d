import { hopOf } from '@market/contracts/gateway';
import type { RequestContext } from '@market/messaging';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { SpanKind, startSpan } from '@market/tracing';
import { Inject, Injectable } from '@nestjs/common';
import type { CallableEndpoint } from '../endpoints/callable-endpoints.js';
import { SellerClient } from './seller-client.js';
import type { SellerOutcome } from './seller-outcome.js';
import { signRequest, type RequestToSign } from './sign-request.js';

export interface SignedRequest extends Pick<RequestToSign, 'requestId' | 'event' | 'buyerId' | 'attempt' | 'rawBody'> {
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** Sends signed requests to the endpoints of listings. */
@Injectable()
export class SignedRequests {
  private readonly hop: string;

  constructor(
    private readonly sellers: SellerClient,
    @Inject(platformConfig.token) { publicUrl }: ConfigOf<typeof platformConfig>,
  ) {
    this.hop = hopOf(publicUrl);
  }

  /** Its span contains neither the seller's address nor any sent data. */
  async send(
    { endpoint, url, secrets, authHeader }: CallableEndpoint,
    { timeoutMs, signal, ...request }: SignedRequest,
    { traceparent, hops = [] }: RequestContext,
  ): Promise<SellerOutcome> {
    const { listingId, maxResponseBytes } = endpoint;
    const span = startSpan('POST seller', SpanKind.Client, traceparent);
    const headers = signRequest({
      ...request,
      secrets,
      authHeader,
      listingId,
      traceparent: span?.traceparent ?? traceparent,
      hops: [...hops, this.hop],
      timestampSeconds: Math.floor(Date.now() / 1_000),
    });
    try {
      const outcome = await this.sellers.call({
        listingId,
        url,
        rawBody: request.rawBody,
        headers,
        timeoutMs,
        maxResponseBytes,
        signal,
      });
      span?.set({ 'market.listing_id': listingId, 'http.response.status_code': outcome.statusCode });
      if (outcome.kind === 'failed' && outcome.reason !== 'seller_refused') span?.fail(outcome.reason);
      return outcome;
    } finally {
      span?.end();
    }
  }
}
