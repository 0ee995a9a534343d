import type { DeliveryFailure } from '@market/contracts/gateway';
import { SpanKind, startSpan } from '@market/tracing';
import { Injectable } from '@nestjs/common';
import { Histogram } from 'prom-client';
import { errors, type Dispatcher } from 'undici';
import { EndpointUrlPolicy } from './endpoint-url.policy.js';
import { SellerConnections, type SellerHandler } from './seller-connections.js';
import { signWebhook } from './sign-request.js';

export interface WebhookMessage {
  webhookId: string;
  url: string;
  /** The current secret, and the previous one while a rotation overlaps. */
  secrets: readonly { secret: string }[];
  messageId: string;
  rawBody: string;
}

export interface WebhookOutcome {
  statusCode: number | null;
  failure: DeliveryFailure | null;
  latencyMs: number;
}

/** Name, connection and the head of the answer; the rest of it is not read. */
const TIMEOUT_MS = 15_000;

const attemptSeconds = new Histogram({
  name: 'market_webhook_attempt_duration_seconds',
  help: 'Attempts to send an event to a webhook, by outcome: delivered, bad_status, unreachable or timeout',
  labelNames: ['outcome'] as const,
  buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15],
});

/** Sends one event by the rules for calls of sellers. Redirects are not followed. */
@Injectable()
export class WebhookSender {
  constructor(
    private readonly connections: SellerConnections,
    private readonly policy: EndpointUrlPolicy,
  ) {}

  /**
   * Its span contains neither the address nor any sent data. Without `traceparent` it is a trace of its own.
   * @param signal ends it early; the outcome is a timeout.
   */
  async send(message: WebhookMessage, signal: AbortSignal, traceparent?: string): Promise<WebhookOutcome> {
    const span = startSpan('POST webhook', SpanKind.Client, traceparent);
    try {
      const outcome = await this.attempt(message, signal);
      const { statusCode, failure, latencyMs } = outcome;
      attemptSeconds.observe({ outcome: failure ?? 'delivered' }, latencyMs / 1_000);
      span?.set({ 'market.webhook_id': message.webhookId, 'http.response.status_code': statusCode ?? undefined });
      if (failure !== null) span?.fail(failure);
      return outcome;
    } finally {
      span?.end();
    }
  }

  private async attempt(message: WebhookMessage, signal: AbortSignal): Promise<WebhookOutcome> {
    const startedAt = performance.now();
    const target = this.policy.check(message.url);
    if (!target.ok) return { statusCode: null, failure: 'unreachable', latencyMs: 0 };
    if (signal.aborted) return { statusCode: null, failure: 'timeout', latencyMs: 0 };
    const exchange = new StatusExchange();
    const giveUp = (): void => exchange.end(null, 'timeout');
    const deadline = setTimeout(giveUp, TIMEOUT_MS);
    signal.addEventListener('abort', giveUp);
    const { origin, pathname, search } = target.url;
    const lease = this.connections.dispatch(
      { listingId: message.webhookId, origin },
      {
        method: 'POST',
        path: pathname + search,
        headers: signWebhook({ ...message, timestampSeconds: Math.floor(Date.now() / 1_000) }),
        body: message.rawBody,
      },
      exchange,
      true,
    );
    try {
      return { ...(await exchange.result), latencyMs: Math.round(performance.now() - startedAt) };
    } finally {
      clearTimeout(deadline);
      signal.removeEventListener('abort', giveUp);
      lease.end(false);
    }
  }
}

/** Ends with the status of the answer, whatever its body. */
class StatusExchange implements SellerHandler {
  private over = false;
  private resolve!: (result: Omit<WebhookOutcome, 'latencyMs'>) => void;
  readonly result = new Promise<Omit<WebhookOutcome, 'latencyMs'>>((resolve) => (this.resolve = resolve));

  end(statusCode: number | null, failure: DeliveryFailure | null): void {
    this.over = true;
    this.resolve({ statusCode, failure });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.over) controller.abort(new errors.RequestAbortedError());
  }

  onResponseStart(_controller: Dispatcher.DispatchController, statusCode: number): void {
    if (statusCode >= 200) this.end(statusCode, statusCode < 300 ? null : 'bad_status');
  }

  onResponseError(): void {
    this.end(null, 'unreachable');
  }
}
