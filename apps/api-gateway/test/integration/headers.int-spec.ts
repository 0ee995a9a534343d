import { createApiKey, getProfile } from '@market/contracts/identity';
import { createListing, getListing } from '@market/contracts/catalog';
import { createdKeyExample, profileExample } from '../../src/identity/identity.examples.js';
import { createdListingExample, createListingExample } from '../../src/listings/listings.examples.js';
import { answerEverything } from '../support/answers.js';
import { EdgeHarness } from '../support/edge-harness.js';
import { expectRefused, send } from '../support/http.js';

describe('headers', () => {
  let harness: EdgeHarness;
  let key: string;

  beforeEach(async () => {
    harness = await EdgeHarness.start();
    answerEverything(harness.bus);
    ({ key } = harness.agent());
  });
  afterEach(() => harness.stop());

  it('name the request: the id that was sent, or a new one, on every answer and to every service', async () => {
    const seen: string[] = [];
    harness.bus.answers(getProfile, (_, context) => (seen.push(context.requestId), profileExample));
    const mine = await send(harness, 'GET', '/me', { key, headers: { 'x-request-id': 'mine-1' } });
    const odd = await send(harness, 'GET', '/me', { key, headers: { 'x-request-id': 'two words' } });
    expect(mine.headers['x-request-id']).toBe('mine-1');
    expect(odd.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(seen).toEqual(['mine-1', odd.headers['x-request-id']]);
    for (const [method, path] of [
      ['GET', '/nope'],
      ['POST', '/me'],
      ['GET', '/%zz'],
      ['OPTIONS', '/me'],
    ] as const) {
      expect(
        (await send(harness, method, path, { headers: { 'x-request-id': 'mine-2' } })).headers['x-request-id'],
      ).toBe('mine-2');
    }
  });

  it('carry the trace on', async () => {
    const seen: (string | undefined)[] = [];
    harness.bus.answers(getProfile, (_, context) => (seen.push(context.traceparent), profileExample));
    const { headers } = await send(harness, 'GET', '/me', {
      key,
      headers: { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' },
    });
    expect(headers.traceparent).toMatch(/^00-4bf92f3577b34da6a3ce929d0e0e4736-(?!00f067aa0ba902b7)[0-9a-f]{16}-01$/);
    expect(seen).toEqual([headers.traceparent]);
  });

  it('let nobody keep what a key has shown, and let strangers keep what is public while it stays the same', async () => {
    expect((await send(harness, 'GET', '/me', { key })).headers).toMatchObject({
      'cache-control': 'no-store',
      vary: 'Authorization, Cookie',
    });
    expect((await send(harness, 'GET', '/listings/x', { key })).headers).toMatchObject({
      'cache-control': 'no-store',
      vary: 'Authorization',
    });
    for (const path of ['/categories', '/listings', '/listings/x', '/recovery-actions', '/openapi.json']) {
      const first = await send(harness, 'GET', path);
      expect(first.headers['cache-control']).toBe('no-cache');
      const { etag } = first.headers;
      expect(etag).toMatch(/^W\/"[0-9a-z-]+"$/);
      for (const known of [etag!, etag!.slice(2), `"x", ${etag}`, '*']) {
        const again = await send(harness, 'GET', path, { headers: { 'if-none-match': known } });
        expect([again.status, again.text, again.headers.etag]).toEqual([304, '', etag]);
      }
      expect((await send(harness, 'GET', path, { headers: { 'if-none-match': 'W/"other"' } })).text).toBe(first.text);
    }
    harness.bus.refuses(getListing, 'listing_not_found', {});
    expect((await send(harness, 'GET', '/listings/x')).headers).toMatchObject({ 'cache-control': 'no-store' });
  });

  it('lead to the neighbouring pages with the same filters', async () => {
    const link = async (query: string): Promise<string> =>
      (await send(harness, 'GET', `/listings?${query}`)).headers.link as string;
    expect(await link('q=a%20b&limit=10&page=2')).toBe(
      ['first:1', 'prev:1', 'next:3', 'last:5']
        .map((entry) => entry.split(':'))
        .map(([rel, page]) => `<https://market.test/api/v1/listings?q=a+b&limit=10&page=${page}>; rel="${rel}"`)
        .join(', '),
    );
    expect(await link('limit=100')).not.toMatch(/next|prev/);
    expect(await link('limit=10&page=99')).toMatch(/page=5>; rel="prev".*page=5>; rel="last"/);
    for (const path of ['/gateway-requests', '/ledger', '/receipts'])
      expect((await send(harness, 'GET', path, { key })).headers.link).toContain(
        `https://market.test/api/v1${path}?page=1>; rel="first"`,
      );
  });

  it('never name the host a client pretends to ask', async () => {
    const { headers, text } = await send(harness, 'GET', '/listings', {
      headers: { host: 'evil.example', 'x-forwarded-host': 'evil.example' },
    });
    expect(JSON.stringify(headers) + text).not.toContain('evil.example');
    expect((await send(harness, 'GET', '/nope', { headers: { host: 'evil.example' } })).text).not.toContain(
      'evil.example',
    );
  });

  it('tell the methods of a path without an origin, too', async () => {
    const { status, headers } = await send(harness, 'OPTIONS', '/listings');
    expect([status, headers.allow, headers['access-control-allow-origin']]).toEqual([
      204,
      'GET, HEAD, POST, OPTIONS',
      undefined,
    ]);
  });

  describe('of idempotency', () => {
    it('bind the key to what is meant, and mark a repeated answer', async () => {
      const seen: (string | undefined)[] = [];
      harness.bus.answers(createListing, (_, context) => {
        seen.push(context.idempotency?.fingerprint);
        context.reply.idempotencyReplayed = seen.length > 1;
        return createdListingExample;
      });
      const create = (body: object) =>
        send(harness, 'POST', '/listings', { key, body, headers: { 'idempotency-key': 'k' } });
      const first = await create(createListingExample);
      const newProof = await create({ ...createListingExample, pow_nonce: 'other', challenge: 'x' });
      await create({ ...createListingExample, name: 'Another name' });
      expect([first.headers['idempotency-replayed'], newProof.headers['idempotency-replayed']]).toEqual([
        undefined,
        'true',
      ]);
      expect(seen[0]).toBe(seen[1]);
      expect(seen[0]).not.toBe(seen[2]);
    });

    it('are refused when they are not visible ASCII, before anyone is asked', async () => {
      for (const idempotencyKey of ['a b', '', 'x'.repeat(256)]) {
        expectRefused(
          await send(harness, 'POST', '/api-keys', {
            key,
            body: { name: 'n', scopes: ['read'] },
            headers: { 'idempotency-key': idempotencyKey },
          }),
          400,
          'BAD_REQUEST',
          'request_invalid',
        );
      }
      expect(harness.bus.asked(createApiKey)).toEqual([]);
      harness.bus.answers(
        createApiKey,
        (_, context) => (expect(context.idempotency?.key).toBe('~'), createdKeyExample),
      );
      expect(
        (
          await send(harness, 'POST', '/api-keys', {
            key,
            body: { name: 'n', scopes: ['read'] },
            headers: { 'idempotency-key': '~' },
          })
        ).status,
      ).toBe(201);
    });
  });
});
