import { Pool } from 'undici';
import { buyerAt, jsonHeaders, type Fixtures } from '../fixtures.js';
import { addressOf } from '../load.js';

/** One of so many answers is as large as an endpoint's default allows. */
const LARGE_EVERY = 200;
const LARGE_BYTES = 1_000_000;

/** What buyers do: ask for the price of a call, pay for it and make it. */
export class Stories {
  private readonly pool: Pool;
  private begun = 0;
  /** How long the calls took whose answer is small, in milliseconds. */
  readonly callsMs: number[] = [];
  /** Whatever was not as expected, and how often. */
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

  /** Ends once all that was begun has ended. */
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
