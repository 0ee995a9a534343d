import type { AnswerReceiver } from './answer-receiver.js';
import { Deadline } from './deadline.js';
import type { EndpointUrlPolicy } from './endpoint-url.policy.js';
import type { Lease, SellerConnections } from './seller-connections.js';
import { SellerExchange, type SellerResult } from './seller-exchange.js';
import type { SellerReply } from './seller-outcome.js';

export interface SellerRequest {
  listingId: string;
  url: string;
  /** Sent unchanged. */
  rawBody: Buffer | string;
  /** Asks with GET whether a job is done. */
  isPoll?: true | undefined;
  /** All headers except Host, Connection and Content-Length; see `signRequest`. */
  headers: Record<string, string>;
  /**
   * The time from the call to the last byte of the answer: name resolution, connecting, headers and body. Of a stream, to
   * its first event.
   */
  timeoutMs: number;
  maxResponseBytes: number;
  /** Takes an answer that is a file or a stream. */
  receiver?: AnswerReceiver | undefined;
  /** Ends the call early; the outcome is a timeout. */
  signal?: AbortSignal | undefined;
}

/** Sends requests to sellers' endpoints and converts every response or failure to an outcome. */
export class SellerClient {
  constructor(
    private readonly connections: SellerConnections,
    private readonly policy: EndpointUrlPolicy,
  ) {}

  /**
   * Sends one request, without redirects. It is sent a second time, on a new connection, only if the seller closed a kept
   * connection without one byte of an answer: sellers close idle connections, and the request may meet that. It rejects
   * only for invalid headers, or if this machine has no free socket.
   */
  async call(call: SellerRequest): Promise<SellerReply> {
    const startedAt = performance.now();
    const giveUp = (): void => exchange.fail('timeout');
    const deadline = new Deadline(giveUp);
    const begin = (): SellerExchange => new SellerExchange(call.maxResponseBytes, deadline, call.receiver, call.isPoll);
    let exchange = begin();
    deadline.set(call.timeoutMs);
    call.signal?.addEventListener('abort', giveUp);
    try {
      let ended = await this.exchange(call, exchange, false);
      if (ended.result.isSilent && ended.wasReused) {
        exchange = begin();
        ended = await this.exchange(call, exchange, true);
      }
      return { ...ended.result.outcome, latencyMs: Math.round(performance.now() - startedAt) };
    } finally {
      deadline.clear();
      call.signal?.removeEventListener('abort', giveUp);
    }
  }

  private async exchange(
    call: SellerRequest,
    exchange: SellerExchange,
    isFresh: boolean,
  ): Promise<{ result: SellerResult; wasReused: boolean }> {
    const lease = this.start(call, exchange, isFresh);
    let reusable = false;
    try {
      const result = await exchange.result;
      reusable = result.reusable;
      return { result, wasReused: lease?.isReused === true };
    } finally {
      lease?.end(reusable);
    }
  }

  private start(
    { listingId, url, headers, rawBody, signal, isPoll }: SellerRequest,
    exchange: SellerExchange,
    isFresh: boolean,
  ): Lease | undefined {
    if (signal?.aborted) return void exchange.fail('timeout');
    const target = this.policy.check(url);
    if (!target.ok) return void exchange.fail('forbidden_address');
    const { origin, pathname, search } = target.url;
    return this.connections.dispatch(
      { listingId, origin },
      isPoll
        ? { method: 'GET', path: pathname + search, headers }
        : { method: 'POST', path: pathname + search, headers, body: rawBody },
      exchange,
      isFresh,
    );
  }
}
