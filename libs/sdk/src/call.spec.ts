import fc from 'fast-check';
import { FakeGateway, type Fault } from '../test/fake-gateway.js';
import { TestClock } from '../test/test-clock.js';
import { testPayer } from '../test/test-payer.js';
import type { CallOptions } from './call.js';
import { MarketplaceError } from './errors.js';
import { Marketplace } from './marketplace.js';
import { RecentPayments, sandboxPayer, type Payer } from './payer.js';
import type { Offer } from './types.js';

describe('call', () => {
  let gateway: FakeGateway;
  let clock: TestClock;
  let market: Marketplace;

  beforeEach(async () => {
    gateway = await FakeGateway.start();
    clock = new TestClock();
    market = new Marketplace({ baseUrl: gateway.baseUrl, apiKey: 'am_k_test', clock });
  });
  afterEach(() => gateway.stop());

  const call = (options: CallOptions = {}, body: object = { text: 'héllo', n: 1.5 }) =>
    market.call<{ echo: unknown }>('listing-1', body, { pay: sandboxPayer(market), ...options });

  const failureOf = async (promise: Promise<unknown>): Promise<MarketplaceError> => {
    const error: unknown = await promise.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (!(error instanceof MarketplaceError)) throw new Error('The call did not fail with a MarketplaceError.');
    return error;
  };

  it('pays what is asked and returns the seller’s answer', async () => {
    const result = await call();

    expect(result).toMatchObject({ billable: true, relayRequestId: 'relay-1', seller_response: { echo: { n: 1.5 } } });
    expect(JSON.parse(result.rawBody)).toMatchObject({ data: { seller_response: result.seller_response } });
    expect(gateway.payments).toEqual(['relay-1']);
  });

  it('sends the same bytes under the same idempotency key every time', async () => {
    gateway.pendingAnswers = 2;

    const result = await call();

    const requests = gateway.gatewayRequests;
    expect(requests).toHaveLength(4);
    expect(new Set(requests.map(({ body }) => body)).size).toBe(1);
    expect(new Set(requests.map(({ headers }) => headers['idempotency-key']))).toEqual(
      new Set([result.idempotencyKey]),
    );
  });

  it('pays at most once and is charged at most once, whatever gets lost on the way', async () => {
    const fault = fc.constantFrom<(Fault | undefined)[]>(
      'lose_request',
      'lose_answer',
      'too_fast',
      'bad_gateway',
      undefined,
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fault, { maxLength: 12 }), fc.uuid(), async (faults, text) => {
        gateway.faults.splice(0, Infinity, ...faults);
        gateway.payments.length = 0;
        gateway.charges.length = 0;
        let asked = 0;
        const sandbox = sandboxPayer(market);
        const payer: Payer = {
          ...sandbox,
          prepare: (offer) => {
            asked += 1;
            return sandbox.prepare(offer);
          },
        };

        const outcome = await call({ pay: payer }, { text }).catch((error: unknown) => error);
        gateway.faults.length = 0;

        expect(asked).toBe(1);
        expect(outcome).toMatchObject({ billable: true });
        expect(gateway.charges).toEqual(gateway.payments);
        expect(gateway.payments).toHaveLength(1);
      }),
      { numRuns: 200 },
    );
  }, 60_000);

  it('goes on with the same payment when the connection is lost after paying', async () => {
    gateway.faults.push(undefined, undefined, 'lose_answer', 'bad_gateway', 'lose_request');

    const result = await call();

    expect(result.billable).toBe(true);
    expect(gateway.payments).toEqual(['relay-1']);
    expect(gateway.charges).toEqual(['relay-1']);
    expect(clock.slept).toEqual([250, 500, 1000]);
  });

  it('waits through an outage before it pays, while it pays and after, until the time given to it', async () => {
    const outage = Array<Fault>(8).fill('lose_request');
    gateway.faults.push(...outage, undefined, 'unavailable', ...outage, undefined, 'too_fast', ...outage);

    expect(await call()).toMatchObject({ billable: true, relayRequestId: 'relay-1' });
    expect([gateway.payments, gateway.charges]).toEqual([['relay-1'], ['relay-1']]);

    gateway.faults.push(...Array<Fault>(9).fill('unavailable'));
    const error = await failureOf(call({ timeoutMs: 20_000 }, { text: 'other' }));
    expect(error).toMatchObject({ code: 'SERVICE_UNAVAILABLE', status: 503, relayRequestId: undefined });
    expect(gateway.faults).toHaveLength(2);
  });

  it('waits as long as a 202 says, from the body first', async () => {
    gateway.pendingAnswers = 3;

    await call();

    expect(clock.slept).toEqual([2000, 2000, 2000]);
  });

  it.each(['too_fast', 'unavailable'] as const)('waits as long as an answer says that it is %s', async (fault) => {
    gateway.faults.push(fault);

    await call();

    expect(clock.slept).toEqual([3000]);
  });

  it('reports a payment that is not confirmed in time, with the id to resume it', async () => {
    gateway.pendingAnswers = Infinity;

    const error = await failureOf(call({ timeoutMs: 60_000 }));
    gateway.pendingAnswers = 0;
    const resumed = await call({ pay: undefined, relayRequestId: error.relayRequestId });

    expect(error).toMatchObject({ code: 'PAYMENT_PENDING', status: 202, relayRequestId: 'relay-1' });
    expect(resumed.billable).toBe(true);
    expect(gateway.payments).toEqual(['relay-1']);
  });

  it('never pays in a resumed call', async () => {
    const offers: Offer[] = [];
    const error = await failureOf(
      call({ relayRequestId: 'relay-unknown', pay: testPayer(async (offer) => void offers.push(offer)) }),
    );

    expect(error).toMatchObject({ code: 'NOT_FOUND', relayRequestId: 'relay-unknown' });
    expect(offers).toEqual([]);
  });

  it('throws the offer when it has no payer', async () => {
    const error = await failureOf(call({ pay: undefined }));

    expect(error).toMatchObject({ code: 'PAYMENT_REQUIRED', status: 402, requestId: 'req-7' });
    expect(error.payment?.relay_request_id).toBe('relay-1');
  });

  it.each([
    ['0.04', 0.05, '0.05'],
    ['0.049999999999999999999', 0.05, '0.05'],
    ['0.05', 0.050001, '0.05'],
    ['0.05', 0.05, '0.06'],
    ['0.0000001', 1e-6, '0.000001'],
  ])(
    'does not pay above a limit of %s when the price is %d and the amount %s',
    async (maxPriceUsd, priceUsd, amount) => {
      Object.assign(gateway, { priceUsd, amount });

      const error = await failureOf(call({ maxPriceUsd }));

      expect(error.code).toBe('PRICE_ABOVE_LIMIT');
      expect(gateway.payments).toEqual([]);
    },
  );

  it('pays a price equal to the limit', async () => {
    await expect(call({ maxPriceUsd: '0.0500' })).resolves.toMatchObject({ billable: true });
  });

  it('takes the SOL route under a new key when the route’s minimum is not met, once', async () => {
    Object.assign(gateway, { routesTooSmall: ['USDC'], priceUsd: 0.01, amount: '0.0001' });

    const first = await call({ idempotencyKey: 'order-1' });
    const again = await call({ idempotencyKey: 'order-1', pay: undefined, relayRequestId: first.relayRequestId ?? '' });

    const [refused, quoted, paid] = gateway.gatewayRequests;
    expect(refused?.headers['idempotency-key']).toBe('order-1');
    expect(quoted?.headers).toMatchObject({ 'x-market-origin-currency': 'SOL', authorization: 'Bearer am_k_test' });
    expect(quoted?.headers['idempotency-key']).not.toBe('order-1');
    expect(paid?.headers['idempotency-key']).toBe(quoted?.headers['idempotency-key']);
    expect(again.rawBody).toBe(first.rawBody);
  });

  it('does not change the route twice', async () => {
    gateway.routesTooSmall = ['USDC', 'SOL'];

    const error = await failureOf(call());

    expect(error).toMatchObject({ code: 'PAYMENT_ROUTE_MINIMUM_NOT_MET', status: 400 });
    expect(gateway.gatewayRequests).toHaveLength(2);
  });

  it('does not pay a fresh offer when its payment came too late', async () => {
    gateway.paymentsComeLate = true;

    const error = await failureOf(call());

    expect(error).toMatchObject({
      code: 'PAYMENT_REQUIRED',
      relayRequestId: 'relay-1',
      payment: { relay_request_id: 'relay-2' },
    });
    expect(gateway.payments).toEqual(['relay-1']);
  });

  it('asks a failed seller again only when told to, on the same payment', async () => {
    gateway.sellerFailures = 1;
    const failed = await call();
    const delivered = await call({ pay: undefined, relayRequestId: failed.relayRequestId ?? '' });

    gateway.sellerFailures = 2;
    const patient = await call({ retries: 2 }, { text: 'other' });

    expect(failed).toMatchObject({ billable: false, seller_status_code: 502 });
    expect(delivered.billable).toBe(true);
    expect(patient.billable).toBe(true);
    expect(gateway.payments).toEqual(['relay-1', 'relay-2']);
  });

  it('is told at once that nothing was paid for the id it goes on with, and pays nothing', async () => {
    await failureOf(call({ pay: undefined }));

    const error = await failureOf(call({ relayRequestId: 'relay-1' }));

    expect(error).toMatchObject({
      code: 'PAYMENT_REQUIRED',
      relayRequestId: 'relay-1',
      payment: { relay_request_id: 'relay-1' },
    });
    expect([gateway.gatewayRequests.length, gateway.payments]).toEqual([2, []]);
  });

  it.each([
    ['refused the request for good', 404, 'fix_request'],
    ['broke a stream off, whose payment is owed back', 502, 'request_new_payment_requirements'],
  ])('does not ask a seller again that %s', async (_what, status, nextAction) => {
    gateway.sellerFailures = 1;
    gateway.failure = { status, nextAction };

    const refused = await call({ retries: 2 });

    expect(refused).toMatchObject({
      billable: false,
      seller_status_code: status,
      recovery: { next_action: nextAction },
    });
    expect(gateway.sellerFailures).toBe(0);
  });

  it('takes X-Market headers from an answer and no other', async () => {
    gateway.retryHeaders = {
      'x-market-relay-request-id': 'another',
      'X-Market-Payment-Scheme': 'sandbox',
      Authorization: 'Bearer stolen',
      'Idempotency-Key': 'other',
    };

    const result = await call();

    expect(gateway.gatewayRequests[1]?.headers).toMatchObject({
      'x-market-relay-request-id': 'relay-1',
      'x-market-payment-scheme': 'sandbox',
      authorization: 'Bearer am_k_test',
      'idempotency-key': result.idempotencyKey,
    });
  });

  it('sends the headers a payer proves its payment with', async () => {
    const payer = testPayer(async (offer) => {
      await market.sandbox.pay(offer.relay_request_id);
      return { headers: { 'PAYMENT-SIGNATURE': 'proof' } };
    });

    await call({ pay: payer });

    expect(gateway.gatewayRequests[1]?.headers['payment-signature']).toBe('proof');
  });

  it('reports a payer’s failure with the id it was paying, and does not ask it again', async () => {
    let asked = 0;
    const payer = testPayer(async () => {
      asked += 1;
      throw new Error('no funds');
    });

    const error = await failureOf(call({ pay: payer }));

    expect(error).toMatchObject({
      code: 'PAYMENT_FAILED',
      message: 'Paying failed: no funds',
      relayRequestId: 'relay-1',
    });
    expect(asked).toBe(1);
  });

  it('pays a dollar at most unless it is told otherwise', async () => {
    Object.assign(gateway, { priceUsd: 1.01, amount: '1.01' });

    expect(await failureOf(call())).toMatchObject({
      code: 'PRICE_ABOVE_LIMIT',
      message: expect.stringContaining('$1.00') as string,
    });
    expect(await call({ maxPriceUsd: 2 })).toMatchObject({ billable: true });
  });

  it('pays no offer that was changed on its way', async () => {
    gateway.tamper = ({ requirements }) => void (requirements.relayRequestId = 'relay-of-another');

    expect(await failureOf(call())).toMatchObject({
      code: 'OFFER_REFUSED',
      details: { reason: 'relay_request_id_mismatch' },
    });
    expect(gateway.payments).toEqual([]);
  });

  it('takes of several payers the first that can, and none where none can', async () => {
    const never = { ...testPayer(async () => Promise.reject(new Error('asked'))), canPay: () => false };

    await expect(call({ pay: [never, sandboxPayer(market)] })).resolves.toMatchObject({ billable: true });
    expect(await failureOf(call({ pay: never }, { text: 'other' }))).toMatchObject({
      code: 'OFFER_REFUSED',
      details: { reason: 'no_payer' },
    });
  });

  it('goes on after a crash with what was kept for the offer, in a client that knows nothing else', async () => {
    const payments = new RecentPayments();
    const restarted = (): Marketplace =>
      new Marketplace({ baseUrl: gateway.baseUrl, apiKey: 'am_k_test', clock, payments });
    const proving = testPayer(async () => ({ headers: { 'PAYMENT-SIGNATURE': 'kept' } }));
    gateway.pendingAnswers = Infinity;
    const error = await failureOf(restarted().call('listing-1', { n: 1 }, { pay: proving, timeoutMs: 10_000 }));
    await market.sandbox.pay(error.relayRequestId ?? '');
    gateway.pendingAnswers = 0;

    const resumed = await restarted().call('listing-1', { n: 1 }, { relayRequestId: error.relayRequestId });

    expect(resumed.billable).toBe(true);
    expect(gateway.gatewayRequests.at(-1)?.headers['payment-signature']).toBe('kept');
  });

  it('calls without an account where it has no key, and pays the one of its offers that it can', async () => {
    const accepted = (network: string, id: string) => ({
      scheme: 'exact',
      network,
      amount: '50000',
      asset: '0x1',
      payTo: `0x${id}`,
      maxTimeoutSeconds: 600,
      extra: { relayRequestId: id },
    });
    gateway.tamper = (offer) => {
      delete offer.requirements.depositAddress;
      offer.x402 = {
        x402Version: 2,
        accepts: [accepted('eip155:1', 'relay-elsewhere'), accepted('eip155:84532', 'relay-1')],
      };
    };
    const keyless = new Marketplace({ baseUrl: gateway.baseUrl, clock });
    const paid: Offer[] = [];
    const payer = testPayer(async (offer) => {
      paid.push(offer);
      await market.sandbox.pay(offer.relay_request_id);
    });

    await keyless.call(
      'listing-1',
      { n: 1 },
      { pay: { ...payer, canPay: ({ requirements }) => requirements.network === 'eip155:84532' } },
    );

    expect(paid).toMatchObject([
      {
        relay_request_id: 'relay-1',
        requirements: { amount: '0.050000', network: 'eip155:84532', relayRequestId: 'relay-1' },
        x402: { accepts: [{ network: 'eip155:84532' }] },
      },
    ]);
    expect(gateway.gatewayRequests.map(({ path, headers }) => [path, headers.authorization])).toEqual(
      Array(2).fill(['/api/v1/x402/listing-1', undefined]),
    );
  });

  it('transfers nothing where it has no key: such offers are paid by a signature alone', async () => {
    gateway.tamper = (offer) =>
      void (offer.x402 = {
        x402Version: 2,
        accepts: [
          {
            scheme: 'exact',
            network: 'eip155:84532',
            amount: '50000',
            asset: '0x1',
            payTo: '0x2',
            maxTimeoutSeconds: 600,
            extra: { relayRequestId: 'relay-1' },
          },
        ],
      });
    const sent: string[] = [];
    const transferring = {
      ...testPayer(async () => undefined),
      send: async ({ relayRequestId }: { relayRequestId: string }) => void sent.push(relayRequestId),
    };

    const error = await failureOf(
      new Marketplace({ baseUrl: gateway.baseUrl, clock }).call('listing-1', { n: 1 }, { pay: transferring }),
    );

    expect(error.details).toMatchObject({ reason: 'no_payer' });
    expect(sent).toEqual([]);
  });

  it('tells how a signed payment was settled', async () => {
    const settlement = { success: true, transaction: '0xabc', network: 'eip155:84532', payer: '0xdef' };
    const settled: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      const headers = new Headers(response.headers);
      if (response.status === 200)
        headers.set('payment-response', Buffer.from(JSON.stringify(settlement)).toString('base64'));
      return new Response(response.body, { status: response.status, headers });
    };
    const client = new Marketplace({ baseUrl: gateway.baseUrl, apiKey: 'am_k_test', clock, fetch: settled });

    expect(await client.call('listing-1', { n: 1 }, { pay: sandboxPayer(market) })).toMatchObject({ settlement });
    expect(await call({}, { n: 2 })).toMatchObject({ settlement: null });
  });

  it('stops when it is cancelled and still tells the payment', async () => {
    gateway.pendingAnswers = Infinity;
    const cancel = new AbortController();
    const payer = testPayer(async (offer) => {
      await market.sandbox.pay(offer.relay_request_id);
      cancel.abort();
    });

    const error = await failureOf(call({ pay: payer, signal: cancel.signal }));

    expect(error).toMatchObject({ code: 'ABORTED', relayRequestId: 'relay-1' });
  });
});
