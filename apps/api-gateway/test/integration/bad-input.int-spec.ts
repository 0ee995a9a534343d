import { createListing, searchListings } from '@market/contracts/catalog';
import { createChallenge, getProfile } from '@market/contracts/identity';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { createListingExample } from '../../src/listings/listings.examples.js';
import { LISTING_ID, WALLET } from '../../src/openapi/example-values.js';
import { answerEverything } from '../support/answers.js';
import { EdgeHarness } from '../support/edge-harness.js';
import { expectRefused, send, sendRaw } from '../support/http.js';

describe('bad input', () => {
  let harness: EdgeHarness;
  let key: string;

  beforeAll(async () => {
    harness = await EdgeHarness.start();
    answerEverything(harness.bus);
    ({ key } = harness.agent());
  });
  afterAll(() => harness.stop());

  const challenge = (body: object | string | Buffer | undefined, headers: Record<string, string | string[]> = {}) =>
    send(harness, 'POST', '/auth/challenge', { body, headers });
  const fieldsOf = (answer: Awaited<ReturnType<typeof challenge>>): string[] =>
    (answer.json.error!.details!.fields as { field: string }[]).map(({ field }) => field);

  describe('in JSON bodies', () => {
    it.each([
      '{',
      '{"a":}',
      "{'a':1}",
      '{"a":1}}',
      'undefined',
      '{"a":NaN}',
      '{"a":01}',
      '{"a":1,}',
      '// x\n{}',
      '"\\x"',
      '{"a":"\n"}',
      '\0',
      '{"a":"\0"}',
    ])('refuses %p, which is not JSON', async (body) => {
      expectRefused(await challenge(body), 400, 'BAD_REQUEST', 'body_malformed');
    });

    it.each(['[]', '1', '"text"', 'null', 'true', '[{"wallet_address":"x"}]'])(
      'refuses %p, which is no object',
      async (body) => {
        const answer = await challenge(body);
        expectRefused(answer, 400, 'BAD_REQUEST', 'request_invalid');
        expect(fieldsOf(answer)).toEqual(['body']);
      },
    );

    it('refuses an empty body where one is needed', async () => {
      for (const answer of [await challenge(undefined), await challenge('')])
        expectRefused(answer, 400, 'BAD_REQUEST', 'request_invalid');
    });

    it.each([
      '{"__proto__":{"polluted":1},"wallet_address":"x"}',
      '{"constructor":{"prototype":{"polluted":1}}}',
      '{"constructor":1}',
      '{"prototype":1}',
      '{"a":{"__proto__":1}}',
      '{"\\u005f_proto__":1}',
      '{"toString":1}',
      '{"hasOwnProperty":1}',
      '{"valueOf":1}',
    ])('refuses %s and lets nothing through to prototypes', async (body) => {
      expectRefused(await challenge(body), 400, 'BAD_REQUEST', 'body_malformed');
      expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    });

    it('refuses NUL and unpaired surrogates, and keeps every other text as it came', async () => {
      for (const unfit of ['a\\u0000', '\\ud800', 'x\\udc00y'])
        expectRefused(await challenge(`{"wallet_address":"${unfit}"}`), 400, 'BAD_REQUEST', 'body_malformed');
      for (const text of [
        'é',
        'e\u0301',
        '👩‍🌾',
        '\u202ertl',
        '\u200b',
        '\ufeff',
        '\u007f',
        "'; DROP TABLE x;--",
        '<script>',
        '\u0001',
      ]) {
        expect((await challenge({ wallet_address: text })).status).toBe(200);
        expect(harness.bus.asked(createChallenge).at(-1)!.wallet_address).toBe(text);
      }
    });

    it('refuses bytes that are not UTF-8', async () => {
      expectRefused(
        await challenge(Buffer.from([...Buffer.from('{"wallet_address":"'), 0xff, ...Buffer.from('"}')])),
        400,
        'BAD_REQUEST',
        'body_malformed',
      );
      expectRefused(
        await challenge(Buffer.from('{"wallet_address":"x"}', 'utf16le')),
        400,
        'BAD_REQUEST',
        'body_malformed',
      );
    });

    it('refuses depth, and many keys, without falling over', async () => {
      const nested = (depth: number): string =>
        `{"wallet_address":"x","deep":${'['.repeat(depth)}${']'.repeat(depth)}}`;
      expect(fieldsOf(await challenge(nested(30)))).toEqual(['deep']);
      for (const depth of [33, 5_000, 100_000])
        expectRefused(await challenge(nested(depth)), 400, 'BAD_REQUEST', 'body_malformed');
      expectRefused(
        await challenge(Object.fromEntries(Array.from({ length: 3_000 }, (_, index) => [`k${index}`, 1]))),
        400,
        'BAD_REQUEST',
        'body_malformed',
      );
    });

    it('names every unknown field and every wrong type at once', async () => {
      const answer = await send(harness, 'POST', '/listings', {
        key,
        body: {
          ...createListingExample,
          name: 1,
          description: 'short',
          status: 'suspended',
          provider_id: LISTING_ID,
          is_verified: true,
          slug: 'x',
          id: LISTING_ID,
          created_at: 'x',
        },
      });
      expectRefused(answer, 400, 'BAD_REQUEST', 'request_invalid');
      expect(fieldsOf(answer).sort()).toEqual([
        'created_at',
        'description',
        'id',
        'is_verified',
        'name',
        'provider_id',
        'slug',
        'status',
      ]);
      expect(answer.json.error!.recovery).toMatchObject({ next_action: 'fix_request' });
    });

    it.each([-1, 0.0000001, 1e400, 1_000_001, '1', [1], {}])('refuses the price %p', async (price) => {
      const before = harness.bus.asked(createListing).length;
      const body = JSON.stringify({ ...createListingExample, pricing_amount: '@' }).replace(
        '"@"',
        price === Infinity ? '1e400' : JSON.stringify(price),
      );
      // No double holds 1e400, so the body is refused before its fields are looked at.
      const reason = price === Infinity ? 'body_malformed' : 'request_invalid';
      expectRefused(await send(harness, 'POST', '/listings', { key, body }), 400, 'BAD_REQUEST', reason);
      expect(harness.bus.asked(createListing)).toHaveLength(before);
    });

    it('measures names in characters, not in UTF-16 units', async () => {
      const withName = (name: string) =>
        send(harness, 'POST', '/listings', { key, body: { ...createListingExample, name } });
      expect((await withName('👩'.repeat(100))).status).toBe(201);
      expectRefused(await withName('👩'.repeat(101)), 400, 'BAD_REQUEST');
      expectRefused(await withName('👩'), 400, 'BAD_REQUEST');
    });
  });

  describe('in size', () => {
    const padded = (bytes: number): string => `{"wallet_address":"${WALLET}"${' '.repeat(bytes - WALLET.length - 21)}}`;

    it('takes 256 KiB of JSON, 1 MiB for a new listing, and not a byte more', async () => {
      expect(Buffer.byteLength(padded(262_144))).toBe(262_144);
      expect((await challenge(padded(262_144))).status).toBe(200);
      const headOf = (path: string, length: number): string =>
        `POST /api/v1${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n{`;
      expectRefused(
        await sendRaw(harness, headOf('/auth/challenge', 262_145)),
        413,
        'PAYLOAD_TOO_LARGE',
        'body_too_large',
      );
      expectRefused(await sendRaw(harness, headOf('/listings', 1_048_577)), 413, 'PAYLOAD_TOO_LARGE', 'body_too_large');
    });

    it('refuses headers that are too large', async () => {
      expectRefused(
        await sendRaw(harness, `GET /api/v1/health HTTP/1.1\r\nHost: x\r\nX-Fill: ${'x'.repeat(20_000)}\r\n\r\n`),
        431,
        'BAD_REQUEST',
        'headers_too_large',
      );
    });
  });

  describe('in content types', () => {
    it.each([
      'text/plain',
      'text/json',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/jsonp',
      'application/xml',
      'application/json; charset=latin1',
      'application/json; charset=utf-16',
      'garbage',
      'application/',
      ';',
      'application/vnd.api+json',
    ])('refuses %p', async (type) => {
      expectRefused(
        await challenge('{"wallet_address":"x"}', { 'content-type': type }),
        415,
        'UNSUPPORTED_MEDIA_TYPE',
        'json_required',
      );
    });

    it.each([
      'application/json',
      'application/json;charset=utf-8',
      'application/json; charset=UTF-8',
      'Application/JSON',
      'application/json; charset="utf8"',
      'application/json; profile=x',
    ])('takes %p', async (type) => {
      expect((await challenge({ wallet_address: 'x' }, { 'content-type': type })).status).toBe(200);
    });

    it('refuses a body without a type, and one that is compressed', async () => {
      const raw = (headers: string, body: string | Buffer) =>
        sendRaw(
          harness,
          Buffer.concat([
            Buffer.from(
              `POST /api/v1/auth/challenge HTTP/1.1\r\nHost: x\r\n${headers}Content-Length: ${body.length}\r\n\r\n`,
            ),
            Buffer.from(body),
          ]),
        );
      expectRefused(await raw('', '{"wallet_address":"x"}'), 415, 'UNSUPPORTED_MEDIA_TYPE');
      expectRefused(
        await raw('Content-Type: application/json\r\nContent-Encoding: gzip\r\n', gzipSync('{"wallet_address":"x"}')),
        415,
        'UNSUPPORTED_MEDIA_TYPE',
      );
    });

    it('does not mind a content type without a body where none is needed', async () => {
      expect(
        (await send(harness, 'POST', '/listings/challenge', { key, headers: { 'content-type': 'application/json' } }))
          .status,
      ).toBe(200);
      expect(
        (
          await send(harness, 'DELETE', `/listings/${LISTING_ID}`, {
            key,
            headers: { 'content-type': 'application/json' },
          })
        ).status,
      ).toBe(200);
    });
  });

  describe('in queries', () => {
    it.each([
      'page=0',
      'page=-1',
      'page=1.5',
      'page=1%20',
      'page=',
      'page=1e3',
      'page=99999999999',
      'page=1&page=2',
      'limit=0',
      'limit=101',
      'limit[]=5',
      'limit[a]=5',
      'sort=price',
      'sort=created_at;--',
      'category=x',
      'pricing_model=',
      'min_price=-1',
      'max_price=1e3',
      'max_price_usd=-0',
      'max_price_usd=1,5',
      'min_success=1.1',
      'min_success=.5',
      'min_success=0.99999',
      'min_success=NaN',
      'include=all',
      'include=facets,facets',
      'include=',
      'min_price=0.0000001',
      'q=%00',
      'unknown=1',
      '__proto__=1',
      'constructor=1',
      'q=a&q=b',
    ])('refuses ?%s', async (query) => {
      const before = harness.bus.asked(searchListings).length;
      expectRefused(await send(harness, 'GET', `/listings?${query}`), 400, 'BAD_REQUEST', 'request_invalid');
      expect(harness.bus.asked(searchListings)).toHaveLength(before);
    });

    it('reads odd text as text', async () => {
      for (const [query, q] of [
        ['q=', ''],
        ['q=%27%20OR%201%3D1%3B--', "' OR 1=1;--"],
        ['q=%F0%9F%91%A9', '👩'],
        ['q=a+b', 'a b'],
        ['q=%FF', '%FF'],
        ['q=%', '%'],
      ] as const) {
        expect((await send(harness, 'GET', `/listings?${query}`)).status).toBe(200);
        expect(harness.bus.asked(searchListings).at(-1)!.q).toBe(q);
      }
    });

    it('answers a page far past the end like any other', async () => {
      const { status, json } = await send(harness, 'GET', '/listings?page=1000000000&limit=100');
      expect([status, json.pagination]).toEqual([200, { page: 1_000_000_000, limit: 100, total: 41, totalPages: 1 }]);
    });

    it('survives a flood of parameters', async () => {
      expectRefused(await send(harness, 'GET', `/listings?${'a[]=1&'.repeat(2_000)}`), 400, 'BAD_REQUEST');
    });
  });

  describe('in paths and methods', () => {
    it.each([
      '/nope',
      '/me/',
      '/ME',
      '//api/v1/me',
      '/api/v1/../v1/me',
      '/listings/a/b',
      '/',
      '/gateway',
      '/gateway/',
      `/listings/${'x'.repeat(300)}`,
      '/%6d%65/x',
    ])('answers 404 to %s', async (path) => {
      expectRefused(await send(harness, 'GET', path, { key }), 404, 'NOT_FOUND');
    });

    it('answers 400 to broken percent-encoding', async () => {
      for (const path of ['/%', '/%zz', '/listings/%E0%A4%A', '/%ff%'])
        expectRefused(await send(harness, 'GET', path), 400, 'BAD_REQUEST', 'request_malformed');
    });

    it('answers 405 with the methods there are', async () => {
      for (const [method, path, allow] of [
        ['POST', '/me', 'GET, HEAD'],
        ['PUT', '/listings', 'GET, HEAD, POST'],
        ['GET', '/register', 'POST'],
        ['DELETE', `/gateway/${LISTING_ID}`, 'POST'],
        ['TRACE', '/me', 'GET, HEAD'],
        ['PROPFIND', '/me', 'GET, HEAD'],
      ] as const) {
        const answer = await send(harness, method, path, { key });
        expectRefused(answer, 405, 'METHOD_NOT_ALLOWED');
        expect(answer.headers.allow).toBe(allow);
      }
    });

    it('does not let another header choose the method', async () => {
      const { status } = await send(harness, 'GET', '/me', {
        key,
        headers: { 'x-http-method-override': 'DELETE', 'x-method-override': 'POST' },
      });
      expect([status, harness.bus.asked(getProfile).length > 0]).toEqual([200, true]);
    });

    it('answers HEAD like GET, without the body', async () => {
      const [head, get] = [await send(harness, 'HEAD', '/listings'), await send(harness, 'GET', '/listings')];
      expect([head.status, head.text, head.headers['content-length']]).toEqual([
        200,
        '',
        get.headers['content-length'],
      ]);
      expect((await send(harness, 'HEAD', '/me')).status).toBe(401);
    });
  });

  describe('below HTTP', () => {
    const get = (more: string): string => `GET /api/v1/health HTTP/1.1\r\n${more}\r\n\r\n`;

    it.each([
      ['no HTTP at all', 'hello\r\n\r\n', 400],
      ['a method there is not', 'FROBNICATE /api/v1/health HTTP/1.1\r\nHost: x\r\n\r\n', 400],
      ['no Host', get('X: y'), 400],
      ['a header without a name', get('Host: x\r\n: y'), 400],
      ['a NUL in a header', get('Host: x\r\nA: b\0c'), 400],
      [
        'a length that is no number',
        'POST /api/v1/auth/challenge HTTP/1.1\r\nHost: x\r\nContent-Length: two\r\n\r\n{}',
        400,
      ],
      ['a negative length', 'POST /api/v1/auth/challenge HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n', 400],
      [
        'two lengths',
        'POST /api/v1/auth/challenge HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}',
        400,
      ],
      [
        'a length and chunks',
        'POST /api/v1/auth/challenge HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
        400,
      ],
      [
        'chunks that are none',
        'POST /api/v1/auth/challenge HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
        400,
      ],
      ['an expectation there is not', get('Host: x\r\nExpect: miracles'), 417],
      ['HTTP/3.0', 'GET / HTTP/3.0\r\nHost: x\r\n\r\n', 400],
    ])('answers %s in the envelope', async (_, bytes, status) => {
      const answer = await sendRaw(harness, bytes);
      expectRefused(answer, status, 'BAD_REQUEST');
    });

    it('meets the expectation 100-continue', async () => {
      const body = JSON.stringify({ wallet_address: WALLET });
      const socket = connect(harness.port, '127.0.0.1');
      const received: string[] = [];
      const answered = new Promise<void>((resolve) => {
        socket.on('data', (chunk: Buffer) => {
          received.push(chunk.toString());
          if (received.length === 1) socket.write(body);
          if (received.join('').includes('expires_in')) resolve();
        });
      });
      socket.write(
        'POST /api/v1/auth/challenge HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n' +
          `Content-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`,
      );
      await answered;
      socket.destroy();
      expect(received[0]).toMatch(/^HTTP\/1\.1 100 Continue/);
    });

    it('goes on for everyone after a client left in the middle of its body', async () => {
      for (let round = 0; round < 20; round += 1) {
        const socket = connect(harness.port, '127.0.0.1');
        await new Promise<void>((resolve) =>
          socket.write(
            'POST /api/v1/auth/challenge HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"wallet',
            () => resolve(),
          ),
        );
        socket.destroy();
      }
      expect((await send(harness, 'GET', '/health')).status).toBe(200);
    });

    it('ignores an upgrade', async () => {
      expect((await sendRaw(harness, get('Host: x\r\nConnection: Upgrade\r\nUpgrade: websocket'))).status).toBe(200);
    });
  });
});
