import type { EndpointUrlPolicy } from './endpoint-url.policy.js';
import type { Lease, SellerConnections } from './seller-connections.js';
import { SellerExchange } from './seller-exchange.js';
import type { SellerOutcome } from './seller-outcome.js';

export interface SellerRequest {
  listingId: string;
  url: string;
  /** Sent unchanged. */
  rawBody: Buffer | string;
  /** All headers but Host, Connection and Content-Length; see `signRequest`. */
  headers: Record<string, string>;
  /** From the call to the last byte of the answer: name resolution, connecting, headers and body. */
  timeoutMs: number;
  maxResponseBytes: number;
  /** Ends the call early, as a timeout. */
  signal?: AbortSignal | undefined;
}

/** Sends requests to sellers' endpoints, and turns every kind of response or failure into an outcome. */
export class SellerClient {
  constructor(
    private readonly connections: SellerConnections,
    private readonly policy: EndpointUrlPolicy,
  ) {}

  /** Sends one POST, without retries and redirects. It rejects only for invalid headers and if this machine has no free socket. */
  async call(call: SellerRequest): Promise<SellerOutcome> {
    const startedAt = performance.now();
    const exchange = new SellerExchange(call.maxResponseBytes);
    const giveUp = (): void => exchange.fail('timeout');
    const deadline = setTimeout(giveUp, call.timeoutMs);
    call.signal?.addEventListener('abort', giveUp);
    const lease = this.start(call, exchange);
    let reusable = false;
    try {
      const result = await exchange.result;
      reusable = result.reusable;
      return { ...result.outcome, latencyMs: Math.round(performance.now() - startedAt) };
    } finally {
      clearTimeout(deadline);
      call.signal?.removeEventListener('abort', giveUp);
      lease?.end(reusable);
    }
  }

  private start(
    { listingId, url, headers, rawBody, signal }: SellerRequest,
    exchange: SellerExchange,
  ): Lease | undefined {
    if (signal?.aborted) return void exchange.fail('timeout');
    const target = this.policy.check(url);
    if (!target.ok) return void exchange.fail('forbidden_address');
    const { origin, pathname, search } = target.url;
    return this.connections.dispatch(
      { listingId, origin },
      { method: 'POST', path: pathname + search, headers, body: rawBody },
      exchange,
    );
  }
}
