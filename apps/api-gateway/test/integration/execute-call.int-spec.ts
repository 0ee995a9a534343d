import { executeCall } from '@market/contracts/gateway';
import { refuse } from '@market/messaging';
import { randomBytes } from 'node:crypto';
import { offerExample } from '../../src/gateway/gateway.examples.js';
import { LISTING_ID, RELAY_REQUEST_ID } from '../../src/openapi/example-values.js';
import { eventually } from '@market/testing';
import { EdgeHarness } from '../support/edge-harness.js';
import { expectRefused, send, sendRaw } from '../support/http.js';

const dataJson =
  '{"request_id":"r","billable":true,"charged_amount":{"amount_cents":2,"currency":"USD"},' +
  '"seller_status_code":200,"seller_response":{"n":1.10,"big":12345678901234567890,"é":"\\u00e9"} }';

describe('POST /gateway/{listingId}', () => {
  let harness: EdgeHarness;
  let key: string;

  beforeAll(async () => (harness = await EdgeHarness.start()));
  afterAll(() => harness.stop());
  beforeEach(() => {
    ({ key } = harness.agent());
    harness.bus.answers(executeCall, () => ({ outcome: 'answered' as const, dataJson, idempotencyReplayed: false }));
  });

  const lastAsked = () => harness.bus.asked(executeCall).at(-1)!;
  const countAsked = () => harness.bus.asked(executeCall).length;

  it('hands the body on as the text it is, whatever JSON it may be', async () => {
    for (const body of [
      '{"b":1, "a":2.50}',
      '{ "x" : "\\u0041\\ud83d\\ude00" }',
      '{"dup":1,"dup":2}',
      '{"__proto__":{"x":1}}',
      '\ufeff{}',
      ' {}\n',
      '{"é":"👩"}',
      'not json at all',
      '['.repeat(5_000),
      '"\\u0000"',
    ]) {
      expect((await send(harness, 'POST', '/gateway/weather', { key, body })).status).toBe(200);
      expect(lastAsked()).toEqual({ listingRef: 'weather', body });
    }
    expect((await send(harness, 'POST', `/gateway/${LISTING_ID.toUpperCase()}`, { key })).status).toBe(200);
    expect(lastAsked()).toEqual({ listingRef: LISTING_ID, body: '' });
  });

  it('answers with the stored bytes, the same each time', async () => {
    const first = await send(harness, 'POST', '/gateway/weather', { key, body: {} });
    harness.bus.answers(executeCall, () => ({ outcome: 'answered' as const, dataJson, idempotencyReplayed: true }));
    const again = await send(harness, 'POST', '/gateway/weather', { key, body: {} });
    expect(first.text).toBe(`{"success":true,"data":${dataJson}}`);
    expect(again.text).toBe(first.text);
    expect([first.headers['idempotency-replayed'], again.headers['idempotency-replayed']]).toEqual([undefined, 'true']);
    expect(first.headers).toMatchObject({
      'cache-control': 'no-store',
      'content-type': 'application/json; charset=utf-8',
    });
  });

  it('answers 402 with the payment and guidance', async () => {
    harness.bus.answers(executeCall, () => ({ outcome: 'payment_required' as const, payment: offerExample }));
    const { status, headers, json } = await send(harness, 'POST', '/gateway/weather', { key, body: {} });
    expect(status).toBe(402);
    expect(headers['cache-control']).toBe('no-store');
    expect(headers.link).toBe(
      '<https://market.test/api/v1/openapi.json>; rel="service-desc", <https://market.test/llms.txt>; rel="describedby"',
    );
    expect(json).toMatchObject({
      success: false,
      error: { code: 'PAYMENT_REQUIRED', recovery: { next_action: 'pay_and_retry' } },
      data: { payment: { relay_request_id: RELAY_REQUEST_ID, requirements: offerExample.requirements } },
    });
  });

  it('answers 202 with the wait while the payment is not final', async () => {
    harness.bus.answers(executeCall, () => ({
      outcome: 'pending' as const,
      relayRequestId: RELAY_REQUEST_ID,
      retryAfterSeconds: 3,
      reason: 'payment_not_final' as const,
    }));
    const { status, headers, json } = await send(harness, 'POST', '/gateway/weather', {
      key,
      body: {},
      headers: { 'X-Market-Relay-Request-Id': RELAY_REQUEST_ID },
    });
    expect([status, headers['retry-after'], json]).toEqual([
      202,
      '3',
      {
        success: true,
        data: {
          status: 'pending',
          relay_request_id: RELAY_REQUEST_ID,
          retry_after_seconds: 3,
          reason: 'payment_not_final',
          code: 'PAYMENT_PENDING',
          message: 'A payment was seen that is not final. Pay nothing again; repeat the same request',
          recovery: {
            next_action: 'retry_same_request',
            sign_again: false,
            keep: ['X-Market-Relay-Request-Id', 'PAYMENT-SIGNATURE', 'Idempotency-Key'],
          },
        },
      },
    ]);
  });

  it('refuses by itself, in the same words, while the gateway has too many, and keeps the connection', async () => {
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    harness.bus.answers(executeCall, async () => {
      await ended;
      return { outcome: 'answered' as const, dataJson, idempotencyReplayed: false };
    });
    const asked = countAsked();
    const waiting = send(harness, 'POST', '/gateway/weather', { key, body: {} });
    await eventually(() => expect(countAsked()).toBe(asked + 1));
    harness.bus.answers(executeCall, () => {
      throw refuse(executeCall, 'overloaded', { retry_after_seconds: 1 });
    });
    const byGateway = await send(harness, 'POST', '/gateway/weather', { key, body: {} });
    expect(countAsked()).toBe(asked + 2);
    const headers = { 'X-Request-Id': 'mine', Connection: 'keep-alive' };
    for (const path of ['/gateway/weather', `/gateway/${LISTING_ID}?x=1`]) {
      const early = await send(harness, 'POST', path, { key, body: { text: 'x'.repeat(100_000) }, headers });
      expect([early.status, early.json]).toEqual([503, byGateway.json]);
      for (const name of ['content-type', 'cache-control', 'x-content-type-options', 'retry-after', 'content-length'])
        expect([name, early.headers[name]]).toEqual([name, byGateway.headers[name]]);
      expect(early.headers['x-request-id']).toBe('mine');
    }
    const inBrowser = { Origin: 'https://app.example' };
    const late = await send(harness, 'POST', '/gateway/weather', { key, body: {}, headers: inBrowser });
    expect([late.status, late.json]).toEqual([503, byGateway.json]);
    expect(late.headers['access-control-allow-origin']).toBe('*');
    expect((await send(harness, 'POST', '/gateway/weather/more', { key, body: {} })).status).toBe(404);
    expect((await send(harness, 'GET', '/gateway/weather', { key })).status).toBe(405);
    expect(countAsked()).toBe(asked + 2);
    end();
    expect((await waiting).status).toBe(200);
    harness.bus.answers(executeCall, () => ({ outcome: 'answered' as const, dataJson, idempotencyReplayed: false }));
    await eventually(async () =>
      expect((await send(harness, 'POST', '/gateway/weather', { key, body: {} })).status).toBe(200),
    );
  });

  it('hands on its headers and its Idempotency-Key', async () => {
    let idempotencyKey: string | undefined;
    harness.bus.answers(executeCall, (_, context) => {
      idempotencyKey = context.idempotency?.key;
      return { outcome: 'answered' as const, dataJson, idempotencyReplayed: false };
    });
    const headers = {
      'Idempotency-Key': 'k-1',
      'X-Market-Relay-Request-Id': RELAY_REQUEST_ID,
      'X-Market-Origin-Currency': 'SOL',
      'X-Market-Payment-Scheme': 'exact',
      'X-Market-Payment-Network': 'eip155:8453',
    };
    await send(harness, 'POST', '/gateway/weather', { key, body: {}, headers });
    expect(lastAsked()).toEqual({
      listingRef: 'weather',
      body: '{}',
      relayRequestId: RELAY_REQUEST_ID,
      originCurrency: 'SOL',
      paymentScheme: 'exact',
      paymentNetwork: 'eip155:8453',
    });
    expect(idempotencyKey).toBe('k-1');
  });

  it('refuses headers that are not acceptable, and asks nobody', async () => {
    const before = countAsked();
    const odd: Record<string, string | string[]>[] = [
      { 'X-Market-Origin-Currency': 'DOGE' },
      { 'X-Market-Relay-Request-Id': 'abc' },
      { 'X-Market-Relay-Request-Id': [RELAY_REQUEST_ID, RELAY_REQUEST_ID] },
      { 'X-Market-Origin-Wallet-Id': 'mine' },
      { 'X-Market-Origin-Chain-Id': '' },
      { 'Idempotency-Key': 'a b' },
      { 'Idempotency-Key': 'x'.repeat(256) },
      { 'Idempotency-Key': ['a', 'b'] },
    ];
    for (const headers of odd)
      expectRefused(
        await send(harness, 'POST', '/gateway/weather', { key, body: {}, headers }),
        400,
        'BAD_REQUEST',
        'request_invalid',
      );
    expect(countAsked()).toBe(before);
  });

  it('refuses bytes that are not UTF-8', async () => {
    for (const body of [
      Buffer.from([0x7b, 0xff, 0x7d]),
      Buffer.from('{"a":"\xc0\xaf"}', 'latin1'),
      Buffer.from([0xed, 0xa0, 0x80]),
      randomBytes(512),
    ]) {
      expectRefused(
        await send(harness, 'POST', '/gateway/weather', { key, body }),
        400,
        'BAD_REQUEST',
        'body_malformed',
      );
    }
  });

  it('takes a body of one mebibyte and not a byte more', async () => {
    const body = Buffer.alloc(1_048_576, 0x20);
    expect((await send(harness, 'POST', '/gateway/weather', { key, body })).status).toBe(200);
    expect(lastAsked().body).toHaveLength(1_048_576);
    const head = `POST /api/v1/gateway/weather HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`;
    expectRefused(await sendRaw(harness, `${head}Content-Length: 1048577\r\n\r\n{}`), 413, 'PAYLOAD_TOO_LARGE');
    const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n100001\r\n${' '.repeat(1_048_577)}\r\n0\r\n\r\n`;
    expectRefused(await sendRaw(harness, chunked), 413, 'PAYLOAD_TOO_LARGE');
  });

  it('passes on what the gateway refuses, each in the words of the contract', async () => {
    const minimum = {
      seller_endpoint_called: false as const,
      recommended_origin_currency: 'SOL' as const,
      recommended_gateway_headers: { 'X-Market-Origin-Currency': 'SOL' as const },
    };
    harness.bus.refuses(executeCall, 'payment_route_minimum_not_met', minimum);
    const { status, json } = await send(harness, 'POST', '/gateway/weather', { key, body: {} });
    expect([status, json.error]).toEqual([
      400,
      {
        code: 'PAYMENT_ROUTE_MINIMUM_NOT_MET',
        message: expect.any(String),
        details: minimum,
        recovery: {
          next_action: 'retry_with_solana_payment_route',
          retry_same_route: false,
          use_new_idempotency_key: true,
        },
      },
    ]);
    harness.bus.refuses(executeCall, 'own_listing', {});
    expectRefused(await send(harness, 'POST', '/gateway/weather', { key, body: {} }), 403, 'FORBIDDEN', 'own_listing');
    harness.bus.refuses(executeCall, 'request_body_too_large', { max_request_bytes: 10 });
    expectRefused(
      await send(harness, 'POST', '/gateway/weather', { key, body: {} }),
      413,
      'PAYLOAD_TOO_LARGE',
      'request_body_too_large',
    );
    harness.bus.refuses(executeCall, 'listing_busy', { retry_after_seconds: 2 });
    const busy = await send(harness, 'POST', '/gateway/weather', { key, body: {} });
    expectRefused(busy, 429, 'RATE_LIMITED', 'listing_busy');
    expect(busy.headers['retry-after']).toBe('2');
  });

  it('gives the seller its time, and other operations ten seconds', async () => {
    let remainingMs = 0;
    harness.bus.answers(executeCall, (_, context) => {
      remainingMs = context.deadlineAt - Date.now();
      return { outcome: 'answered' as const, dataJson, idempotencyReplayed: false };
    });
    await send(harness, 'POST', '/gateway/weather', { key, body: {} });
    expect(remainingMs).toBeGreaterThan(140_000);
  });
});
