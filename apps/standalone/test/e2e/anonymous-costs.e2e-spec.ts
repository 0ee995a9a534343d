import { evmWallet, solveProofOfWork, type Challenge } from '@market/sdk';
import {
  startMarketplace,
  startPostgresProxy,
  withClient,
  type PostgresProxy,
  type RunningMarketplace,
} from '@market/testing';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { anonymousRoutes } from '../../../api-gateway/test/support/anonymous-routes.js';
import { RETIRED_PATHS } from '../../../api-gateway/test/support/retired-paths.js';
import { expectBooksInOrder } from '../support/books.js';
import { ApiDescription } from '../support/fuzz/operations.js';
import { OF_NO_REQUEST } from '../support/of-no-request.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';
import { openShop, type Shop } from '../support/seller.js';

interface Sent {
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
}
interface Cost {
  /** What the OpenAPI document does not list, as `GET /llms.txt`. */
  route?: string;
  /** The most statements that PostgreSQL executes for a request. */
  statements: number;
  /** The rows that a request leaves behind. */
  rows?: number;
  send: (n: number) => Sent | Promise<Sent>;
  status: number;
}

const REQUESTS = 30;
const HEALTH_REQUESTS = 300;
const TICK_MS = 10;
/** On a slow machine a job may run as often as the requests come. */
const OF_JOBS = 1;
/** The most processor time of a request, compared with `GET /health`. */
const MOST_HEALTHS = 100;

const SCHEMA = {
  type: 'object',
  properties: { text: { type: 'string', pattern: '^[a-z ]*$' }, items: { type: 'array', uniqueItems: true } },
};
const QUESTION = 'translate emial summary weather of '.repeat(40);
const at = (path: string, body?: unknown): Sent => ({ path: `/api/v1${path}`, body });
const mcp = (method: string, params: object, path = '/mcp'): Sent => ({
  path,
  body: { jsonrpc: '2.0', id: 1, method, params },
  headers: { accept: 'application/json, text/event-stream' },
});

/** Everything that is served without a credential: what one request costs, so that strangers cannot use much up. */
inEachMode('what a request without a credential costs', ({ mode, databaseUrl }) => {
  let proxy: PostgresProxy;
  let marketplace: RunningMarketplace;
  let seller: Agent;
  let shop: Shop;

  beforeAll(async () => {
    await withClient(databaseUrl, (client) => client.query('CREATE DATABASE anonymous_costs'));
    proxy = await startPostgresProxy(new URL('/anonymous_costs', databaseUrl).href);
    marketplace = await startMarketplace({
      mode,
      env: {
        DATABASE_URL: proxy.url,
        RATE_LIMITS: 'off',
        REGISTRATION_POW_DIFFICULTY: '1',
        API_GATEWAY_SECURITY_CONTACT: 'mailto:security@market.test',
      },
    });
    seller = await registerAgent(marketplace, { displayName: 'Seller' });
    shop = await openShop(seller, () => ({ ok: true }), { input_schema: SCHEMA, example_input: { text: 'a' } });
  }, 240_000);
  afterAll(async () => {
    await expectBooksInOrder({ databaseUrl: new URL('/anonymous_costs', databaseUrl).href }, [shop]);
    await shop?.close();
    await marketplace?.stop();
    await proxy?.stop();
  }, 120_000);

  const ask = async ({ path, body, headers }: Sent): Promise<{ status: number; text: string }> => {
    const answer = await fetch(`${marketplace.baseUrl}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    return { status: answer.status, text: await answer.text() };
  };
  /** A proof whose work is done and whose signature is of another text. */
  const forgedProof = async (purpose: string): Promise<object> => {
    const wallet = evmWallet();
    const challenge = await ask(at('/auth/challenge', { wallet_address: wallet.address, purpose }));
    const { nonce, pow } = (JSON.parse(challenge.text) as { data: Challenge }).data;
    const work = pow && { pow_nonce: await solveProofOfWork(pow) };
    return { wallet_address: wallet.address, nonce, signature: await wallet.sign('another text'), ...work };
  };
  const listing = (): string => shop.listing.slug;
  const COSTS: Record<string, Cost> = {
    getHealth: { status: 200, statements: 0, send: () => at('/health') },
    createChallenge: {
      status: 200,
      statements: 3,
      rows: 1,
      send: () => at('/auth/challenge', { wallet_address: evmWallet().address }),
    },
    register: {
      status: 400,
      statements: 4,
      send: async () => at('/register', { ...(await forgedProof('registration')), display_name: 'x' }),
    },
    recover: { status: 400, statements: 4, send: async () => at('/auth/recover', await forgedProof('recovery')) },
    openSession: { status: 400, statements: 4, send: async () => at('/auth/session', await forgedProof('session')) },
    getOidcProvider: { status: 200, statements: 0, send: () => at('/auth/oidc') },
    beginOidcSignIn: { status: 404, statements: 0, send: () => at('/auth/oidc', {}) },
    openOidcSession: {
      status: 404,
      statements: 0,
      send: () => at('/auth/oidc/session', { sign_in: 'x', code: 'x', state: 'x' }),
    },
    listCategories: { status: 200, statements: 1, send: () => at('/categories') },
    searchListings: {
      status: 200,
      statements: 9,
      send: (n) =>
        at(
          `/listings?limit=100&include=facets,ways_to_pay&q=${encodeURIComponent(`${n} ${QUESTION}`.slice(0, 1_000))}`,
        ),
    },
    getListing: { status: 200, statements: 2, send: () => at(`/listings/${listing()}`) },
    getListingQuality: { status: 200, statements: 3, send: () => at(`/listings/${listing()}/quality`) },
    executeKeylessCall: {
      status: 402,
      statements: 2,
      send: (n) => {
        const items = Array.from({ length: 200 }, (_, item) => ({ item, n }));
        return at(`/x402/${listing()}`, { text: `a ${n} `.repeat(1_000), items });
      },
    },
    showPrice: { status: 402, statements: 1, send: () => at(`/x402/${listing()}`) },
    listResources: { status: 200, statements: 4, send: () => at('/discovery/resources?limit=100') },
    searchResources: {
      status: 200,
      statements: 7,
      send: (n) => at(`/discovery/search?query=${encodeURIComponent(`${n} ${QUESTION}`.slice(0, 200))}`),
    },
    listPaymentRoutes: { status: 200, statements: 1, send: () => at('/payment-routes') },
    listReviews: { status: 200, statements: 3, send: () => at(`/reviews/${listing()}`) },
    getAgent: { status: 200, statements: 9, send: () => at(`/agents/${seller.id}`) },
    getScore: { status: 200, statements: 3, send: () => at(`/agents/${seller.id}/score`) },
    deliverResult: { status: 404, statements: 1, send: () => at(`/jobs/${randomUUID()}/result`, {}) },
    deliverProgress: { status: 404, statements: 1, send: () => at(`/jobs/${randomUUID()}/progress`, {}) },
    deliverFailure: { status: 404, statements: 1, send: () => at(`/jobs/${randomUUID()}/failed`, {}) },
    handleRelayWebhook: { status: 404, statements: 1, send: () => at('/webhooks/relay', { id: randomUUID() }) },
    listRecoveryActions: { status: 200, statements: 0, send: () => at('/recovery-actions') },
    getOpenApi: { status: 200, statements: 0, send: () => at('/openapi.json') },
    'a key of nobody': {
      status: 401,
      statements: 1,
      send: () => ({ ...at('/me'), headers: { authorization: `Bearer am_k_${randomUUID().replaceAll('-', '')}` } }),
    },
    'the tools of MCP': { route: 'POST /mcp', status: 200, statements: 2, send: () => mcp('tools/list', {}) },
    'a tool of MCP': {
      status: 200,
      statements: 9,
      send: (n) => mcp('tools/call', { name: 'search_listings', arguments: { query: `weather ${n}` } }),
    },
    '200 KB for MCP': { status: 200, statements: 2, send: () => mcp('tools/call', { name: 'x'.repeat(200_000) }) },
    '1 MB for MCP': { status: 200, statements: 0, send: () => mcp('tools/call', { name: 'x'.repeat(1_000_000) }) },
    'the tool of a listing': {
      route: 'POST /mcp/{listing}',
      status: 200,
      statements: 4,
      send: () => mcp('tools/list', {}, `/mcp/${listing()}`),
    },
    'a call of a listing by its tool': {
      status: 200,
      statements: 4,
      send: (n) => mcp('tools/call', { name: 'call', arguments: { text: `a ${n}` } }, `/mcp/${listing()}`),
    },
    'the resources for crawlers': {
      route: 'GET /.well-known/x402',
      status: 200,
      statements: 4,
      send: () => ({ path: '/.well-known/x402' }),
    },
    'an asset': {
      route: 'GET /assets/{name}',
      status: 200,
      statements: 0,
      send: async () => ({ path: /\/assets\/[\w.-]+/.exec((await ask({ path: '/' })).text)![0] }),
    },
  };
  /** Pages and documents, which cost no statement whatever their path says. */
  const PAGES: Record<string, string> = {
    'GET /': '/',
    'GET /catalog': '/catalog',
    'GET /listings/{slug}': '/listings/some-listing',
    'GET /agents/{id}': '/agents/some-agent',
    'GET /docs': '/docs',
    'GET /docs/errors': '/docs/errors',
    'GET /docs/mcp': '/docs/mcp',
    'GET /docs/buying': '/docs/buying',
    'GET /docs/paying': '/docs/paying',
    'GET /docs/selling': '/docs/selling',
    'GET /docs/snippets': '/docs/snippets',
    'GET /sign-in': '/sign-in',
    'GET /sign-in/oidc': '/sign-in/oidc',
    'GET /mine': '/mine',
    'GET /mine/*': '/mine/sales',
    'GET /operator': '/operator',
    'GET /operator/*': '/operator/money',
    'GET /llms.txt': '/llms.txt',
    'GET /.well-known/api-catalog': '/.well-known/api-catalog',
    'GET /.well-known/security.txt': '/.well-known/security.txt',
    'GET /.well-known/jwks.json': '/.well-known/jwks.json',
    'GET /.well-known/did.json': '/.well-known/did.json',
  };
  for (const path of RETIRED_PATHS)
    COSTS[`the retired ${path}`] = {
      route: `ALL /api/v1/${path}`,
      status: 410,
      statements: 0,
      send: () => at(`/${path}`, {}),
    };
  for (const [route, path] of Object.entries(PAGES))
    COSTS[`the page ${path}`] = { route, status: 200, statements: 0, send: () => ({ path }) };

  const processorMs = async (): Promise<number> => {
    let ticks = 0;
    for (const name of marketplace.processes) {
      const stat = await readFile(`/proc/${marketplace.pid(name)}/stat`, 'utf8').catch(() => '');
      const [user, system] = stat.slice(stat.lastIndexOf(')')).split(' ').slice(12, 14).map(Number);
      ticks += (user ?? 0) + (system ?? 0);
    }
    return ticks * TICK_MS;
  };
  const storedRows = (): Promise<number> =>
    withClient(new URL('/anonymous_costs', databaseUrl).href, async (client) => {
      const { rows } = await client.query<{ name: string }>(
        `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
         WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
      );
      let total = 0;
      for (const { name } of rows)
        total += (await client.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${name}`)).rows[0]!.n;
      return total;
    });

  it('is known of every route that the edge serves', async () => {
    const { operations } = await ApiDescription.read(marketplace);
    const known = new Set([
      ...operations.filter(({ id }) => id in COSTS).map(({ name }) => name.replace(' ', ' /api/v1')),
      ...Object.values(COSTS).map(({ route }) => route),
    ]);
    expect(operations.filter(({ access, id }) => access.credential !== 'required' && !(id in COSTS))).toEqual([]);
    const served = await anonymousRoutes();
    expect(served.length).toBeGreaterThan(40);
    expect(served.filter((route) => !known.has(route))).toEqual([]);
  });

  it('is bounded, in statements, rows and processor time', async () => {
    const costOf = async (name: string, requests: number) => {
      const { send, status } = COSTS[name]!;
      const all = [];
      for (let n = -1; n < requests; n += 1) all.push(await send(n));
      expect([name, (await ask(all.shift()!)).status]).toEqual([name, status]);
      const [rows, ms] = [await storedRows(), await processorMs()];
      proxy.forget();
      for (const sent of all) await ask(sent);
      const spent = (await processorMs()) - ms;
      // Statements and rows of jobs, which run beside it, are mostly fewer than one a request.
      const counts = new Map<string, number>();
      for (const { statements } of proxy.transactions)
        if (!OF_NO_REQUEST.includes(statements[0] ?? ''))
          for (const statement of statements) counts.set(statement, (counts.get(statement) ?? 0) + 1);
      const asked = [...counts.values()].reduce((sum, count) => sum + Math.floor(count / requests), 0);
      const stored = Math.floor(((await storedRows()) - rows) / requests);
      return { ms: spent / requests, statements: asked, rows: stored };
    };
    const health = await costOf('getHealth', HEALTH_REQUESTS);
    const tooMuch: Record<string, object> = {};
    for (const [name, cost] of Object.entries(COSTS)) {
      let found = await costOf(name, REQUESTS);
      const isBounded = (): boolean =>
        found.statements <= cost.statements + OF_JOBS &&
        found.rows <= (cost.rows ?? 0) &&
        found.ms <= MOST_HEALTHS * health.ms;
      // What a job did meanwhile is not done again, and what a request costs is.
      if (!isBounded()) found = await costOf(name, REQUESTS);
      if (!isBounded()) tooMuch[name] = { ...found, healths: found.ms / health.ms };
    }
    expect(tooMuch).toEqual({});
  }, 240_000);
});
