import type { HttpAnswer, Method } from '@market/sdk';
import { OpenApiDocument } from '../../../api-gateway/test/support/openapi-document.js';
import { bodyOf, callOnce, type Answered } from '../support/buyer.js';
import { sendRaw } from '../support/raw-http.js';
import { openShop, type Shop } from '../support/seller.js';
import { inEachMode, registerAgent, stranger, type Agent } from '../support/harness.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const UNKNOWN_ID = '01995bad-5c00-7000-8000-00000000dead';

inEachMode('the edge', (harness) => {
  let agent: Agent;
  let seller: Agent;
  let shop: Shop;
  let document: OpenApiDocument;
  let nextActions: string[];

  beforeAll(async () => {
    [agent, seller] = await Promise.all([registerAgent(harness), registerAgent(harness)]);
    shop = await openShop(seller, undefined, { pricing_amount: 0.2 });
    document = new OpenApiDocument((await stranger(harness).send('GET', '/openapi.json')).json);
    nextActions = (await stranger(harness).request<{ next_action: string }[]>('GET', '/recovery-actions')).map(
      ({ next_action }) => next_action,
    );
  });
  afterAll(() => shop.close());

  const anyone = (method: Method, path: string, headers: Record<string, string> = {}): Promise<HttpAnswer> =>
    stranger(harness).send(method, path, { headers });

  function expectError(answer: HttpAnswer, status: number, code: string, reason?: string): Answered['error'] & object {
    const body = bodyOf(answer);
    const { error } = body;
    expect([answer.status, error?.code, ...(reason ? [error?.details?.reason] : [])]).toEqual([
      status,
      code,
      ...(reason ? [reason] : []),
    ]);
    expect(nextActions).toContain(error!.recovery!.next_action);
    return error!;
  }

  describe('answers', () => {
    it('GET /health with status, version 1.0.0 and time, under the versioned prefix alone [spec: GET /health, versioning]', async () => {
      const answer = await anyone('GET', '/health');
      const { status, version, timestamp } = bodyOf(answer).data as {
        status: string;
        version: string;
        timestamp: string;
      };
      expect([answer.status, status, version]).toEqual([200, 'ok', '1.0.0']);
      expect(new Date(timestamp).toISOString()).toBe(timestamp);
      expect(Math.abs(Date.parse(timestamp) - Date.now())).toBeLessThan(60_000);
      expect((document.document as unknown as { info: { version: string } }).info.version).toBe('1.0.0');
      expect(Object.keys(document.document.paths).every((path) => path.startsWith('/api/v1/'))).toBe(true);
      for (const path of ['/health', '/api/health', '/api/v2/health', '/api/v1.0/health', '/v1/health'])
        expect((await sendRaw(harness.baseUrl, 'GET', path)).status).toBe(404);
    });

    it('every success as {success: true, data} and nothing else [spec: envelope.success]', async () => {
      const answers = [
        await anyone('GET', '/health'),
        await anyone('GET', '/categories'),
        await anyone('GET', `/listings/${shop.listing.id}`),
        await agent.market.send('GET', '/me'),
        await agent.market.send('GET', '/api-keys'),
        await agent.market.send('POST', '/api-keys', { body: { name: 'second', scopes: ['read'] } }),
      ];
      for (const answer of answers) {
        expect([200, 201]).toContain(answer.status);
        expect(Object.keys(answer.json as object)).toEqual(['success', 'data']);
        expect(bodyOf(answer).success).toBe(true);
        expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
      }
    });

    it.each(['/listings', '/receipts', '/ledger', '/gateway-requests'])(
      '%s in pages, with four integers that add up [spec: envelope.paginated-success, limit.page]',
      async (path) => {
        const page = async (query: string) => {
          const answer = await agent.market.send('GET', `${path}${query}`);
          expect([answer.status, Object.keys(answer.json as object)]).toEqual([200, ['success', 'data', 'pagination']]);
          const { success, data, pagination } = answer.json as {
            success: boolean;
            data: unknown[];
            pagination: Record<string, number>;
          };
          const { next_cursor: _cursor, ...numbers } = pagination;
          expect([success, Array.isArray(data), Object.keys(numbers)]).toEqual([
            true,
            true,
            ['page', 'limit', 'total', 'totalPages'],
          ]);
          expect(Object.values(numbers).every((value) => Number.isInteger(value) && value >= 0)).toBe(true);
          expect(pagination.totalPages).toBe(Math.ceil(pagination.total! / pagination.limit!));
          expect(data.length).toBe(
            Math.max(0, Math.min(pagination.limit!, pagination.total! - (pagination.page! - 1) * pagination.limit!)),
          );
          return pagination;
        };
        expect(await page('')).toMatchObject({ page: 1, limit: 20 });
        expect(await page('?page=3&limit=7')).toMatchObject({ page: 3, limit: 7 });
        expect(await page('?page=1000000')).toMatchObject({ page: 1_000_000 });
      },
    );
  });

  describe('refuses', () => {
    it('with {success: false, error: {code, message, details, recovery}} and a published next action [spec: envelope.error]', async () => {
      const answers = [
        await anyone('GET', '/nope'),
        await anyone('GET', '/me'),
        await anyone('DELETE', '/health'),
        await anyone('GET', `/listings/${UNKNOWN_ID}`),
        await anyone('GET', '/listings?limit=x'),
        await callOnce(agent, shop.listing, '[]'),
        await seller.market.send('POST', `/gateway/${shop.listing.id}`, { body: {} }),
      ];
      expect(answers.map(({ status }) => status)).toEqual([404, 401, 405, 404, 400, 400, 403]);
      for (const answer of answers) {
        expect(Object.keys(answer.json as object)).toEqual(['success', 'error']);
        const { success, error } = bodyOf(answer);
        expect([success, Object.keys(error!)]).toEqual([false, ['code', 'message', 'details', 'recovery']]);
        expect(error).toMatchObject({
          code: expect.stringMatching(/^[A-Z_]+$/),
          message: expect.stringMatching(/.{10}/),
          details: { reason: expect.stringMatching(/^[a-z_]+$/) },
          recovery: {
            next_action: expect.any(String),
            keep: expect.any(Array),
            drop: expect.any(Array),
            links: {
              docs: expect.stringMatching(/^http/),
              openapi: expect.stringMatching(/^http/),
              llms: expect.stringMatching(/^http/),
            },
          },
        });
        expect(nextActions).toContain(error!.recovery!.next_action);
        expect(answer.headers.get('cache-control')).toBe('no-store');
      }
    });

    it('what is wrong with a body or a query, every problem named [spec: error.400 BAD_REQUEST]', async () => {
      const body = expectError(
        await stranger(harness).send('POST', '/auth/challenge', { body: { purpose: 'fun', chain_id: 0, more: 1 } }),
        400,
        'BAD_REQUEST',
        'request_invalid',
      );
      expect(
        (body.details!['fields'] as { field: string; message: string }[]).map(({ field }) => field).sort(),
      ).toEqual(['chain_id', 'more', 'purpose', 'wallet_address']);
      const query = expectError(
        await anyone('GET', '/listings?limit=0&sort=best&colour=red'),
        400,
        'BAD_REQUEST',
        'request_invalid',
      );
      expect((query.details!['fields'] as { field: string }[]).map(({ field }) => field).sort()).toEqual([
        'colour',
        'limit',
        'sort',
      ]);
      expectError(
        await stranger(harness).send('POST', '/auth/challenge', {
          rawBody: '{"wallet_address":',
          headers: { 'content-type': 'application/json' },
        }),
        400,
        'BAD_REQUEST',
        'body_malformed',
      );
    });

    it('a method that a path does not have, and names those it has', async () => {
      for (const [method, path, allow] of [
        ['POST', '/health', 'GET, HEAD'],
        ['DELETE', '/listings', 'GET, HEAD, POST'],
        ['PUT', '/me', 'GET, HEAD'],
        ['GET', '/register', 'POST'],
      ] as const) {
        const answer = await agent.market.send(method, path);
        expectError(answer, 405, 'METHOD_NOT_ALLOWED', 'method_not_allowed');
        expect(answer.headers.get('allow')).toBe(allow);
      }
    });
  });

  describe('sends headers', () => {
    it('that name the request, as it was named or anew, on every answer', async () => {
      for (const [method, path] of [
        ['GET', '/health'],
        ['GET', '/me'],
        ['GET', '/nope'],
        ['POST', '/wallet/deposit'],
        ['OPTIONS', '/me'],
        ['DELETE', '/health'],
      ] as const) {
        expect((await anyone(method, path, { 'x-request-id': 'mine-1' })).headers.get('x-request-id')).toBe('mine-1');
        for (const odd of ['two words', 'x'.repeat(129), 'näh'])
          expect(
            (
              await sendRaw(harness.baseUrl, method, `/api/v1${path}`, {
                'x-request-id': Buffer.from(odd).toString('latin1'),
              })
            ).headers['x-request-id'],
          ).toMatch(UUID);
      }
    });

    it('that carry a trace on', async () => {
      const answer = await anyone('GET', '/health', {
        traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
      });
      expect(answer.headers.get('traceparent')).toMatch(
        /^00-4bf92f3577b34da6a3ce929d0e0e4736-(?!00f067aa0ba902b7)[0-9a-f]{16}-01$/,
      );
    });

    it('that let nobody keep what a key has shown', async () => {
      for (const path of [
        '/me',
        '/api-keys',
        '/receipts',
        '/ledger',
        '/gateway-requests',
        `/listings/${shop.listing.id}`,
      ]) {
        const { headers, status } = await agent.market.send('GET', path);
        expect([path, status, headers.get('cache-control'), headers.get('etag')]).toEqual([
          path,
          200,
          'no-store',
          null,
        ]);
        expect(headers.get('vary')).toContain('Authorization');
      }
    });

    it('by which strangers know whether what is public has changed, on every public read', async () => {
      // Health depends on the time, and every request for a price creates a new offer.
      const neverTheSame = ['GET /health', 'GET /x402/{listingId}'];
      const open = document.operations.filter(
        ({ name, method, 'x-access': access }) =>
          method === 'get' &&
          (access as { credential: string }).credential !== 'required' &&
          !neverTheSame.includes(name),
      );
      expect(open.length).toBeGreaterThanOrEqual(7);
      for (const { path, name, responses } of open) {
        expect([name, Object.keys(responses)]).toEqual([name, expect.arrayContaining(['200', '304'])]);
        const concrete = path
          .replace('/api/v1', '')
          .replace('{listingId}', shop.listing.slug)
          .replace('{agentId}', seller.id);
        const first = await anyone('GET', concrete);
        const etag = first.headers.get('etag')!;
        expect([name, first.status, first.headers.get('cache-control'), etag]).toEqual([
          name,
          200,
          'no-cache',
          expect.stringMatching(/^W\/"[^"]+"$/),
        ]);
        const again = await anyone('GET', concrete, { 'if-none-match': etag });
        expect([name, again.status, again.text, again.headers.get('etag')]).toEqual([name, 304, '', etag]);
        expect((await anyone('GET', concrete, { 'if-none-match': 'W/"other"' })).status).toBe(200);
      }
      const before = (await anyone('GET', `/listings/${shop.listing.id}`)).headers.get('etag')!;
      await seller.market.listings.update(shop.listing, {
        description: 'Answers what it is asked, and says so in other words.',
      });
      expect((await anyone('GET', `/listings/${shop.listing.id}`, { 'if-none-match': before })).status).toBe(200);
    });

    it('that lead to the neighbouring pages with the same filters', async () => {
      const link = (await anyone('GET', '/listings?limit=1&sort=price_low&page=1')).headers.get('link')!;
      const links = Object.fromEntries(
        link.split(', ').map((entry) => [/rel="(\w+)"/.exec(entry)![1], /<(.*)>/.exec(entry)![1]!]),
      );
      expect(links.first).toMatch(/\/api\/v1\/listings\?limit=1&sort=price_low&page=1$/);
      expect(Object.keys(links)).toEqual(expect.arrayContaining(['first', 'last']));
      for (const path of ['/receipts', '/ledger', '/gateway-requests'])
        expect((await agent.market.send('GET', path)).headers.get('link')).toMatch(/rel="first".*rel="last"/);
    });

    it('to HEAD as to GET, without the body', async () => {
      for (const path of [
        '/health',
        '/categories',
        '/listings',
        '/recovery-actions',
        `/listings/${shop.listing.slug}`,
      ]) {
        const [get, head] = [
          await sendRaw(harness.baseUrl, 'GET', `/api/v1${path}`),
          await sendRaw(harness.baseUrl, 'HEAD', `/api/v1${path}`),
        ];
        expect([path, head.status, head.text, head.headers['content-type'], head.headers.etag]).toEqual([
          path,
          200,
          '',
          get.headers['content-type'],
          get.headers.etag,
        ]);
      }
      expect((await sendRaw(harness.baseUrl, 'HEAD', '/api/v1/me')).status).toBe(401);
    });

    it.each([
      ['a path that is no percent-encoding', '/listings/%E0%A4%A', {}, 400],
      ['a parameter that is too long', `/listings/${'x'.repeat(300)}`, {}, 404],
      ['headers that are too long', '/listings', { 'x-long': 'x'.repeat(20_000) }, 431],
      ['an expectation', '/listings', { expect: 'the best' }, 417],
    ])('that let pages of any origin read the refusal of %s', async (_what, path, headers, status) => {
      const answer = await sendRaw(harness.baseUrl, 'GET', `/api/v1${path}`, {
        origin: 'https://app.example',
        ...headers,
      });
      expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([status, '*']);
      expect(answer.headers['access-control-expose-headers']).toContain('Retry-After');
    });

    it('that let pages of any origin ask and see what they need, never with credentials', async () => {
      const origin = 'https://app.example';
      for (const path of ['/health', '/me', '/nope', '/listings']) {
        const { headers } = await anyone('GET', path, { origin });
        expect([headers.get('access-control-allow-origin'), headers.get('access-control-allow-credentials')]).toEqual([
          '*',
          null,
        ]);
        const exposed = headers.get('access-control-expose-headers')!.split(', ');
        for (const name of [
          'PAYMENT-REQUIRED',
          'PAYMENT-RESPONSE',
          'WWW-Authenticate',
          'Payment-Receipt',
          'RateLimit',
          'RateLimit-Policy',
          'Retry-After',
          'Link',
          'X-Request-Id',
        ])
          expect(exposed).toContain(name);
      }
      expect((await anyone('GET', '/health')).headers.get('access-control-allow-origin')).toBeNull();
      const preflight = await anyone('OPTIONS', `/gateway/${shop.listing.id}`, {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers':
          'authorization,payment-signature,traceparent,access-control-expose-headers,Accept-Payment,x-payment,' +
          'sign-in-with-x,mcp-session-id,cache-control,no name',
      });
      expect([preflight.status, preflight.text, preflight.headers.get('allow')]).toEqual([204, '', 'POST, OPTIONS']);
      expect(preflight.headers.get('access-control-allow-methods')).toContain('POST');
      const allowed = preflight.headers.get('access-control-allow-headers')!.toLowerCase().split(', ');
      for (const name of [
        'payment-signature',
        'payment-authorization',
        'authorization',
        'idempotency-key',
        'x-market-relay-request-id',
        'x-market-origin-currency',
        'x-market-origin-chain-id',
        'x-market-origin-wallet-id',
        'x-market-payment-scheme',
        'x-market-payment-network',
        'traceparent',
        'access-control-expose-headers',
        'content-type',
        'accept-payment',
        'x-payment',
        'sign-in-with-x',
        'mcp-session-id',
        'cache-control',
      ])
        expect(allowed).toContain(name);
      expect(allowed).not.toContain('no name');
      expectError(
        await anyone('OPTIONS', '/nope', { origin, 'access-control-request-method': 'GET' }),
        404,
        'NOT_FOUND',
      );
    });

    it('that name no server, no framework and no version of them', async () => {
      for (const path of ['/health', '/me', '/nope', '/listings']) {
        const { headers, text } = await anyone('GET', path);
        for (const name of ['server', 'x-powered-by', 'via', 'x-aspnet-version']) expect(headers.get(name)).toBeNull();
        expect(text).not.toMatch(/fastify|nestjs|node\.js|express/i);
        expect(headers.get('x-content-type-options')).toBe('nosniff');
      }
    });
  });

  it.each([
    ['/.well-known/api-catalog', 'application/linkset+json'],
    ['/.well-known/jwks.json', 'application/json'],
    ['/llms.txt', 'text/plain'],
    ['/docs', 'text/html'],
  ])('shows strangers %s, where they look first, as %s', async (path, type) => {
    const { status, headers, text } = await sendRaw(harness.baseUrl, 'GET', path);
    expect([status, headers['content-type']!.split(';')[0]]).toEqual([200, type]);
    expect(text.length).toBeGreaterThan(100);
    expect(text).not.toMatch(/undefined|\[object Object\]/);
    expect((await sendRaw(harness.baseUrl, 'GET', '/.well-known/nothing')).status).toBe(404);
  });

  it('is reached by a spelling of the same path with a key, or not at all', async () => {
    const authorization = agent.registration.authorization_header;
    expect((await sendRaw(harness.baseUrl, 'GET', '/api/v1/%6d%65', { authorization })).status).toBe(200);
    for (const path of ['/api/v1/me/', '/api/v1//me', '/api/v1/ME', '/api/v1/me/.', '/api/v1/x/../me'])
      expect((await sendRaw(harness.baseUrl, 'GET', path, { authorization })).status).toBe(404);
  });
});
