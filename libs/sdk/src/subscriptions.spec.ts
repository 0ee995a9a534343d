import { TestClock } from '../test/test-clock.js';
import { testPayer } from '../test/test-payer.js';
import { Marketplace } from './marketplace.js';

const OFFER = {
  payment_id: 'p',
  status: 'pending',
  requirements: {
    depositAddress: '0x1',
    amount: '9.99',
    currency: 'USDC',
    relayRequestId: '0xabc',
    expiresAt: '2030-01-01T00:00:00.000Z',
  },
  fees: { gross_amount: 9.99, fee_rate: 0.05, fee_amount: 0.4995, provider_receives: 9.4905 },
  provider: 'sandbox',
};
const SUBSCRIPTION = { id: 's', status: 'active' };
const required = {
  success: false,
  error: { code: 'PAYMENT_REQUIRED', message: 'pay' },
  data: { payment_required: true, ...OFFER },
};
const pending = {
  success: true,
  data: { status: 'pending', payment_id: 'p', relay_request_id: '0xabc', retry_after_seconds: 3 },
};
const verified = { success: true, data: { subscription: SUBSCRIPTION, payment: {} } };

/** A marketplace that returns the given answers in order, and records the requests. */
function script(...answers: [number, object][]) {
  const asked: { path: string; headers: Headers; body: unknown }[] = [];
  const fetchScripted = async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const [status, body] = answers.shift()!;
    asked.push({
      path: new URL(String(url)).pathname.replace('/api/v1', ''),
      headers: new Headers(init?.headers),
      body: JSON.parse(String(init?.body)),
    });
    return new Response(JSON.stringify(body), { status });
  };
  const clock = new TestClock();
  return {
    asked,
    clock,
    market: new Marketplace({ baseUrl: 'http://market', apiKey: 'k', fetch: fetchScripted as typeof fetch, clock }),
  };
}

describe('subscribe', () => {
  it('is done at once where the listing costs nothing', async () => {
    const { market, asked } = script([201, { success: true, data: SUBSCRIPTION }]);
    expect(await market.subscribe({ id: 'l' }, { originCurrency: 'SOL', idempotencyKey: 'once' })).toEqual(
      SUBSCRIPTION,
    );
    expect(asked).toEqual([
      { path: '/subscribe', headers: expect.any(Headers), body: { listing_id: 'l', origin_currency: 'SOL' } },
    ]);
    expect(asked[0]!.headers.get('idempotency-key')).toBe('once');
  });

  it('pays once what is asked for, and waits until it is final', async () => {
    const { market, asked, clock } = script([402, required], [202, pending], [202, pending], [200, verified]);
    const paid: unknown[] = [];
    expect(await market.subscribe('l', { pay: testPayer(async (offer) => void paid.push(offer)) })).toEqual(
      SUBSCRIPTION,
    );
    expect(paid).toEqual([{ ...OFFER, relay_request_id: '0xabc' }]);
    expect(clock.slept).toEqual([3_000, 3_000]);
    expect(asked.slice(1).map(({ path, body }) => [path, body])).toEqual(
      Array(3).fill(['/payments/verify', { payment_id: 'p', relay_request_id: '0xabc' }]),
    );
  });

  it('does not pay again what is paid already', async () => {
    const { market } = script([402, { ...required, data: { ...required.data, status: 'verified' } }], [200, verified]);
    const paid: unknown[] = [];
    await market.subscribe('l', { pay: testPayer(async (offer) => void paid.push(offer)) });
    expect(paid).toEqual([]);
  });

  it('throws the offer where it may not pay, a refusal as it is, and gives up in time', async () => {
    await expect(script([402, required]).market.subscribe('l')).rejects.toMatchObject({
      status: 402,
      code: 'PAYMENT_REQUIRED',
      payment: { relay_request_id: '0xabc' },
    });
    await expect(
      script([409, { success: false, error: { code: 'CONFLICT', message: 'already' } }]).market.subscribe('l'),
    ).rejects.toMatchObject({ status: 409, code: 'CONFLICT' });
    const slow = script([402, required], [202, pending], [202, pending]);
    await expect(
      slow.market.subscribe('l', { pay: testPayer(async () => undefined), timeoutMs: 5_000 }),
    ).rejects.toMatchObject({ code: 'PAYMENT_PENDING', retryAfterSeconds: 3 });
  });
});
