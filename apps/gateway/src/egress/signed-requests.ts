import { hopOf } from '@market/contracts/gateway';
import type { RequestContext } from '@market/messaging';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { SpanKind, startSpan } from '@market/tracing';
import { Inject, Injectable } from '@nestjs/common';
import type { CallableEndpoint } from '../endpoints/callable-endpoints.js';
import type { AnswerReceiver } from './answer-receiver.js';
import { SellerClient } from './seller-client.js';
import type { SellerReply } from './seller-outcome.js';
import { signRequest, type RequestToSign } from './sign-request.js';

export interface SignedRequest extends Pick<
  RequestToSign,
  'requestId' | 'event' | 'buyerId' | 'attempt' | 'rawBody' | 'contentType'
> {
  /** When a job would have to be delivered, if the seller may answer with one. */
  jobDeadlineSeconds?: number | undefined;
  timeoutMs: number;
  receiver?: AnswerReceiver | undefined;
  signal?: AbortSignal | undefined;
}

/** Sends signed requests to the endpoints of listings. */
@Injectable()
export class SignedRequests {
  private readonly hop: string;
  private readonly jobsUrl: string;

  constructor(
    private readonly sellers: SellerClient,
    @Inject(platformConfig.token) { publicUrl }: ConfigOf<typeof platformConfig>,
  ) {
    this.hop = hopOf(publicUrl);
    this.jobsUrl = `${publicUrl}/api/v1/jobs`;
  }

  /** Its span contains neither the seller's address nor any sent data. */
  async send(
    { endpoint, url, secrets, authHeader }: CallableEndpoint,
    { timeoutMs, signal, receiver, jobDeadlineSeconds, ...request }: SignedRequest,
    { traceparent, hops = [] }: RequestContext,
  ): Promise<SellerReply> {
    const { listingId, maxResponseBytes } = endpoint;
    const span = startSpan('POST seller', SpanKind.Client, traceparent);
    const now = Date.now();
    const headers = signRequest({
      ...request,
      secrets,
      authHeader,
      listingId,
      traceparent: span?.traceparent ?? traceparent,
      hops: [...hops, this.hop],
      timestampSeconds: Math.floor(now / 1_000),
      deadlineSeconds: Math.floor((now + timeoutMs) / 1_000),
      // JSON has its own limit also where the listing answers with files or streams, and that is never larger.
      maxResponseBytes: receiver?.maxBytes ?? maxResponseBytes,
      job:
        jobDeadlineSeconds === undefined
          ? undefined
          : { url: `${this.jobsUrl}/${request.requestId}`, deadlineSeconds: jobDeadlineSeconds },
    });
    try {
      const outcome = await this.sellers.call({
        listingId,
        url,
        rawBody: request.rawBody,
        isPoll: request.event === 'gateway.job_status' || undefined,
        headers,
        timeoutMs,
        maxResponseBytes,
        receiver,
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
