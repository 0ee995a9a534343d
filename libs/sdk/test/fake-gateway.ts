import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { PaymentCurrency, Offer } from '../src/types.js';

/** What the wire does to one request: lose it before or after it took effect, or answer in place of the service. */
export type Fault = 'lose_request' | 'lose_answer' | 'too_fast' | 'unavailable' | 'bad_gateway';

export interface SeenRequest {
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
}

interface FakeOffer {
  relayRequestId: string;
  body: string;
  currency: string;
  paid: boolean;
  result?: string;
}

interface Answer {
  status: number;
  headers?: Record<string, string>;
  body: unknown;
}

const ROUTES = [
  { currency: 'ETH', network: 'eip155:84532', unit_price_usd: 2500 },
  { currency: 'SOL', network: 'eip155:84532', unit_price_usd: 100 },
];

/**
 * The wire of `POST /gateway/{listingId}` and of the sandbox's pay route as the specification draws them, with faults on
 * order: enough to hold the client to its promises, and no more.
 */
export class FakeGateway {
  readonly seen: SeenRequest[] = [];
  /** Relay ids in the order in which money arrived for them. */
  readonly payments: string[] = [];
  readonly charges: string[] = [];
  /** Applied one a request, first to last. */
  readonly faults: (Fault | undefined)[] = [];
  sellerFailures = 0;
  failure = { status: 502, nextAction: 'retry_same_request' };
  pendingAnswers = 0;
  priceUsd = 0.05;
  amount = '0.05';
  /** The currencies whose route does not carry the price. */
  routesTooSmall: string[] = [];
  /** The money comes too late: the paid repeat is answered with a fresh offer. */
  paymentsComeLate = false;
  retryHeaders: Record<string, string> = {};
  /** What the seller answers with instead, if it is asked for events. */
  events: { data: string; event?: string; id?: string }[] | undefined;
  /** After how many events a connection is cut, a stream at a time. */
  readonly cuts: (number | undefined)[] = [];
  attempt = 1;
  /** Whether the stream can be read again by GET. */
  keepsContent = true;
  /** Streams whose reader hung up. */
  hungUp = 0;
  /** What becomes of an offer on its way. */
  tamper: (offer: Offer) => void = () => undefined;

  readonly #offers = new Map<string, FakeOffer>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  static async start(): Promise<FakeGateway> {
    const fake = new FakeGateway();
    await new Promise<void>((resolve) => fake.#server.listen(0, '127.0.0.1', resolve));
    return fake;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get gatewayRequests(): SeenRequest[] {
    return this.seen.filter(({ path }) => /\/(gateway|x402)\//.test(path));
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const seen = { path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks).toString('utf8') };
    this.seen.push(seen);

    const fault = this.faults.shift();
    if (fault === 'lose_request') return void response.destroy();
    if (fault === 'too_fast') return write(response, refusal(429, 'RATE_LIMITED', {}, { 'Retry-After': '3' }));
    if (fault === 'unavailable')
      return write(response, refusal(503, 'SERVICE_UNAVAILABLE', {}, { 'Retry-After': '3' }));
    if (fault === 'bad_gateway') {
      response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad Gateway</h1>');
      return;
    }
    const answer = this.#answer(seen);
    if (fault === 'lose_answer') return void response.destroy();
    const isStream = this.events && answer.status === 200 && seen.headers.accept === 'text/event-stream';
    if (isStream && String(answer.body).includes('"billable":true')) return this.#stream(seen, response);
    write(response, answer);
  }

  #answer(seen: SeenRequest): Answer {
    if (seen.path.startsWith('/api/v1/sandbox/')) return this.#takePayment(seen);
    if (seen.path === '/api/v1/payment-routes') return { status: 200, body: { success: true, data: ROUTES } };
    if (seen.path === '/api/v1/gateway-requests/request-1/content')
      return this.keepsContent ? { status: 200, body: result(true, 200, null) } : refusal(404, 'NOT_FOUND');
    return this.#call(seen);
  }

  #stream({ headers }: SeenRequest, response: ServerResponse): void {
    const frame = (event: string | undefined, data: string, id?: string): void =>
      void response.write(
        `${event ? `event: ${event}\n` : ''}${id ? `id: ${id}\n` : ''}data: ${data.replaceAll('\n', '\ndata: ')}\n\n`,
      );
    response.on('close', () => void (this.hungUp += response.writableFinished ? 0 : 1));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    frame('market.open', JSON.stringify({ request_id: 'request-1', attempt: this.attempt }));
    const from = this.events!.findIndex(({ id }) => id && id === headers['last-event-id']) + 1;
    const cut = this.cuts.shift();
    for (const { event, data, id } of this.events!.slice(from, cut === undefined ? undefined : from + cut)) {
      response.write(':\n\n');
      frame(event, data, id);
    }
    if (cut === Infinity) return;
    if (cut !== undefined && cut % 2 === 0) return void response.socket!.end();
    if (cut !== undefined) return void response.end();
    const { data } = JSON.parse(result(true, 200, null)) as { data: object };
    const facts = { ...data, seller_response: undefined, events: this.events!.length, outcome: 'completed' };
    frame('market.result', JSON.stringify(facts), 'market.end');
    response.end();
  }

  #takePayment({ path }: SeenRequest): Answer {
    const relayRequestId = path.split('/')[5] ?? '';
    const offer = this.#offers.get(relayRequestId);
    if (!offer) return refusal(404, 'NOT_FOUND');
    if (!offer.paid) this.payments.push(relayRequestId);
    offer.paid = true;
    return { status: 200, body: { success: true, data: { status: 'verified' } } };
  }

  #call({ headers, body }: SeenRequest): Answer {
    const relayRequestId = headers['x-market-relay-request-id'];
    if (typeof relayRequestId !== 'string') return this.#quote(headers, body);
    const offer = this.#offers.get(relayRequestId);
    if (!offer) return refusal(404, 'NOT_FOUND');
    if (offer.body !== body) return refusal(409, 'CONFLICT', { details: { reason: 'request_body_mismatch' } });
    if (this.paymentsComeLate) return this.#quote(headers, `${body} `);
    if (offer.result) return { status: 200, body: offer.result };
    if (!offer.paid) return this.#quote(headers, body);
    if (this.pendingAnswers > 0) {
      this.pendingAnswers -= 1;
      const data = { status: 'pending', relay_request_id: relayRequestId, retry_after_seconds: 2 };
      return { status: 202, headers: { 'Retry-After': '9' }, body: { success: true, data } };
    }
    if (this.sellerFailures > 0) {
      this.sellerFailures -= 1;
      return {
        status: 200,
        body: result(false, this.failure.status, null, { recovery: { next_action: this.failure.nextAction } }),
      };
    }
    this.charges.push(relayRequestId);
    offer.result = result(true, 200, { echo: JSON.parse(body) as unknown, call: this.charges.length });
    return { status: 200, body: offer.result };
  }

  #quote(headers: IncomingMessage['headers'], body: string): Answer {
    const currency = String(headers['x-market-origin-currency'] ?? 'USDC');
    if (this.routesTooSmall.includes(currency)) {
      return refusal(400, 'PAYMENT_ROUTE_MINIMUM_NOT_MET', {
        details: {
          seller_endpoint_called: false,
          recommended_origin_currency: 'SOL',
          recommended_gateway_headers: { 'X-Market-Origin-Currency': 'SOL', Authorization: 'Bearer stolen' },
        },
        recovery: {
          next_action: 'retry_with_solana_payment_route',
          retry_same_route: false,
          use_new_idempotency_key: true,
        },
      });
    }
    const known = [...this.#offers.values()].find((offer) => offer.body === body && offer.currency === currency);
    const offer = known ?? { relayRequestId: `relay-${this.#offers.size + 1}`, body, currency, paid: false };
    this.#offers.set(offer.relayRequestId, offer);
    return {
      status: 402,
      body: {
        success: false,
        error: { code: 'PAYMENT_REQUIRED', message: 'Pay, then repeat the request.' },
        data: { payment: this.#payment(offer) },
      },
    };
  }

  #payment({ relayRequestId, currency }: FakeOffer): Offer {
    const offer: Offer = {
      relay_request_id: relayRequestId,
      provider: 'sandbox',
      requirements: {
        depositAddress: 'sandbox',
        amount: this.amount,
        currency: currency as PaymentCurrency,
        network: 'eip155:84532',
        relayRequestId,
        expiresAt: '2030-01-01T00:00:00.000Z',
      },
      fees: { gross_amount: this.priceUsd, fee_rate: 0.05, fee_amount: 0.0025, provider_receives: 0.0475 },
      retry_headers: this.retryHeaders,
    };
    this.tamper(offer);
    return offer;
  }
}

function result(billable: boolean, sellerStatus: number, sellerResponse: unknown, more: object = {}): string {
  return JSON.stringify({
    success: true,
    data: {
      request_id: 'request-1',
      billable,
      charged_amount: { amount_cents: billable ? 5 : 0, currency: 'USD' },
      fees: { fee_rate: 0.05, fee_amount_cents: 0.25, seller_receives_cents: 4.75 },
      seller_status_code: sellerStatus,
      seller_response: sellerResponse,
      ...more,
    },
  });
}

function refusal(status: number, code: string, more: object = {}, headers: Record<string, string> = {}): Answer {
  return { status, headers, body: { success: false, error: { code, message: `Refused: ${code}`, ...more } } };
}

function write(response: ServerResponse, { status, headers, body }: Answer): void {
  response
    .writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'req-7', ...headers })
    .end(typeof body === 'string' ? body : JSON.stringify(body));
}
