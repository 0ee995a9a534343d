import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { MarketplaceError } from './errors.js';
import { Marketplace } from './marketplace.js';
import { evmWallet } from './wallets.js';

interface Seen {
  method: string | undefined;
  url: string | undefined;
  authorization: string | undefined;
  body: Record<string, unknown> | undefined;
}

describe('Marketplace', () => {
  let server: Server;
  let seen: Seen[];
  let answer: (request: Seen) => { status: number; headers?: Record<string, string>; body: unknown };
  let market: Marketplace;

  beforeEach(async () => {
    seen = [];
    answer = () => ({ status: 200, body: { success: true, data: {} } });
    server = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
      request.on('end', () => {
        const { method, url, headers } = request;
        const body = text === '' ? undefined : (JSON.parse(text) as Record<string, unknown>);
        const record = { method, url, authorization: headers.authorization, body };
        seen.push(record);
        const { status, headers: extra, body: sent } = answer(record);
        response.writeHead(status, extra).end(typeof sent === 'string' ? sent : JSON.stringify(sent));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    market = new Marketplace({
      baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
      apiKey: 'am_k_1',
    });
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it('finds the API with and without its prefix', async () => {
    await market.me();
    await new Marketplace({ baseUrl: market.baseUrl }).health();

    expect(seen.map(({ url }) => url)).toEqual(['/api/v1/me', '/api/v1/health']);
    expect(seen.map(({ authorization }) => authorization)).toEqual(['Bearer am_k_1', undefined]);
  });

  it('registers with a signature and proven work, and goes on with the credential exactly as returned', async () => {
    const challenge = 'c'.repeat(64);
    answer = ({ url }) =>
      url === '/api/v1/auth/challenge'
        ? {
            status: 200,
            body: { success: true, data: { message: 'sign me', nonce: 'n-1', pow: { challenge, difficulty: 2 } } },
          }
        : { status: 201, body: { success: true, data: { user_id: 'u-1', authorization_header: 'Bearer  am_k_new' } } };
    const wallet = evmWallet();

    const { marketplace, registration } = await market.register(wallet, { displayName: 'Ada' });
    await marketplace.me();

    const body = seen[1]?.body;
    expect(body).toMatchObject({
      wallet_address: wallet.address,
      signature: await wallet.sign('sign me'),
      nonce: 'n-1',
      display_name: 'Ada',
    });
    expect(
      createHash('sha256')
        .update(`${challenge}${String(body?.['pow_nonce'])}`)
        .digest('hex'),
    ).toMatch(/^00/);
    expect(registration.user_id).toBe('u-1');
    expect(seen[2]?.authorization).toBe('Bearer  am_k_new');
  });

  it('creates a listing with the solved challenge in it', async () => {
    answer = ({ url }) => ({
      status: url === '/api/v1/listings' ? 201 : 200,
      body: { success: true, data: url === '/api/v1/listings' ? { id: 'l-1' } : { challenge: 'abc', difficulty: 1 } },
    });

    const listing = await market.listings.create({ name: 'Echo', description: 'Says it again.' });

    expect(listing.id).toBe('l-1');
    expect(seen[1]?.body).toMatchObject({
      name: 'Echo',
      challenge: 'abc',
      pow_nonce: expect.stringMatching(/^[0-9A-Za-z]+$/),
    });
  });

  it('leaves unset query values out and escapes what goes into a path', async () => {
    answer = ({ url }) => ({
      status: 200,
      body: {
        success: true,
        data: url?.includes('?') ? [] : {},
        pagination: { page: 1, limit: 20, total: 0, totalPages: 0 },
      },
    });

    await market.listings.search({ q: 'a&b', category: undefined, limit: 5 });
    await market.listings.get('../me');

    expect(seen.map(({ url }) => url)).toEqual(['/api/v1/listings?q=a%26b&limit=5', '/api/v1/listings/..%2Fme']);
  });

  it('throws a refusal with everything the service said', async () => {
    const error = {
      code: 'RATE_LIMITED',
      message: 'Slower.',
      details: { a: 1 },
      recovery: { next_action: 'retry_after_delay' },
    };
    answer = () => ({
      status: 429,
      headers: { 'Retry-After': '7', 'X-Request-Id': 'r-1' },
      body: { success: false, error },
    });

    const thrown: unknown = await market.me().catch((reason: unknown) => reason);

    expect(thrown).toBeInstanceOf(MarketplaceError);
    expect(thrown).toMatchObject({ ...error, status: 429, retryAfterSeconds: 7, requestId: 'r-1' });
  });

  it.each([
    [200, '<html>'],
    [200, '{"data":1}'],
    [502, 'Bad Gateway'],
    [301, ''],
  ])('throws what is no envelope as unexpected: %d %p', async (status, body) => {
    answer = () => ({ status, headers: { location: 'http://127.0.0.1:1/' }, body });

    await expect(market.me()).rejects.toMatchObject({ code: 'UNEXPECTED_RESPONSE', status });
  });

  it('tells a lost connection, a timeout and a cancellation apart', async () => {
    server.removeAllListeners('request');
    const hanging = new Marketplace({ baseUrl: market.baseUrl, timeoutMs: 20 });
    await expect(hanging.health()).rejects.toMatchObject({ code: 'TIMEOUT', status: 0 });
    await expect(market.health({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'ABORTED' });
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await expect(market.health()).rejects.toMatchObject({ code: 'NETWORK_ERROR' });
    server.listen(0);
  });

  it('shows no key when it is logged', () => {
    expect(inspect(market, { depth: 9, showHidden: true }) + JSON.stringify(market)).not.toContain('am_k_1');
  });
});
