import { Pool } from 'undici';
import { buyerAt, jsonHeaders, type Fixtures } from '../fixtures.js';
import { addressOf } from '../load.js';

/** One in this many answers is as large as the default of an endpoint allows. */
const LARGE_EVERY = 200;
const LARGE_BYTES = 1_000_000;

/** The steps of a buyer: asks for the price of a call, pays and makes the call. */
export class Scenarios {
  private readonly pool: Pool;
  private begun = 0;
  /** The durations of calls with a small answer, in milliseconds. */
  readonly callsMs: number[] = [];
  /** The number of each kind of unexpected outcome. */
  readonly failures: Record<string, number> = {};

  constructor(
    private readonly shop: Fixtures,
    baseUrl: string,
    clients: number,
  ) {
    this.pool = new Pool(baseUrl, { connections: clients, pipelining: 1 });
  }

  async play(): Promise<void> {
    const n = this.begun++;
    const isLarge = n % LARGE_EVERY === 0;
    const call = {
      path: `/api/v1/gateway/${this.shop.listingId}`,
      headers: { ...jsonHeaders(this.shop, n), 'x-forwarded-for': addressOf(n) },
      body: JSON.stringify({ place: 'Zurich', n, ...(isLarge && { answer_bytes: LARGE_BYTES }) }),
    };
    const asked = await this.send(call, 402);
    if (!asked) return;
    const { relay_request_id } = (JSON.parse(asked) as { data: { payment: { relay_request_id: string } } }).data
      .payment;
    const { authorization } = buyerAt(this.shop, n);
    const payment = {
      path: `/api/v1/sandbox/payments/${relay_request_id}/pay`,
      headers: { ...call.headers, authorization },
      body: '{}',
    };
    if (!(await this.send(payment, 200))) return;
    const calledAt = performance.now();
    const answer = await this.send(
      { ...call, headers: { ...call.headers, 'x-market-relay-request-id': relay_request_id } },
      200,
    );
    if (answer && !isLarge) this.callsMs.push(performance.now() - calledAt);
    if (answer && isLarge && answer.length < LARGE_BYTES) this.count('a large answer that is not');
  }

  /** Resolves when all steps that were begun have ended. */
  close(): Promise<void> {
    return this.pool.close();
  }

  private async send(
    request: { path: string; headers: Record<string, string>; body: string },
    expected: number,
  ): Promise<string | null> {
    const { statusCode, body } = await this.pool.request({ method: 'POST', ...request });
    const text = await body.text();
    if (statusCode === expected) return text;
    this.count(`${statusCode} instead of ${expected}`);
    return null;
  }

  private count(failure: string): void {
    this.failures[failure] = (this.failures[failure] ?? 0) + 1;
  }
}
