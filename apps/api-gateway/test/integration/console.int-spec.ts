import { EdgeHarness } from '../support/edge-harness.js';

/** The maximum compressed size of what a page loads before it can be used. */
const FIRST_LOAD_BYTES = 120_000;

describe('the console', () => {
  let harness: EdgeHarness;

  beforeAll(async () => (harness = await EdgeHarness.start()));
  afterAll(() => harness.stop());

  const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(harness.origin + path, { headers });
  const assetsIn = (html: string): string[] =>
    [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path!);

  it.each(['/', '/catalog?q=a', '/listings/a-slug', '/agents/an-id', '/docs', '/sign-in', '/mine', '/mine/calls/1'])(
    'is the page at %s, which no other page may frame and in which no script is inline',
    async (path) => {
      const response = await get(path);
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(response.headers.get('cache-control')).toBe('no-cache');
      const policy = response.headers.get('content-security-policy')!;
      expect(policy).toMatch(/^default-src 'self'; img-src 'self' data:;/);
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/unsafe|\*|https?:/);
      const html = await response.text();
      expect(html.match(/<script\b[^>]*>/g)).toEqual([expect.stringMatching(/ src="\/assets\/[\w.-]+"/)]);
      expect(html).not.toMatch(/<style|style=|https?:\/\//);
      expect((await get(path, { 'if-none-match': response.headers.get('etag')! })).status).toBe(304);
    },
  );

  it.each([
    ['buying', 'per_day_usd'],
    ['selling', 'SIGNING_SECRET'],
    ['errors', 'request_body_misfit'],
    ['paying', 'PAYMENT-SIGNATURE'],
    ['snippets', 'curl'],
    ['mcp', 'call_listing'],
  ])('serves docs/%s.md as a page without a script', async (name, text) => {
    const response = await get(`/docs/${name}`);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const html = await response.text();
    expect(html).toContain(text);
    expect(html).not.toMatch(/<script|style=|\.md"/);
    const [, styles] = /<link rel="stylesheet" href="([^"]+)"/.exec(html)!;
    expect((await get(styles!)).status).toBe(200);
    expect((await get(`/docs/${name}`, { 'if-none-match': response.headers.get('etag')! })).status).toBe(304);
    expect((await get(`/docs/${name}s`)).status).toBe(404);
  });

  it('leads from an error to the page with the reasons', async () => {
    const { error } = (await (await get('/api/v1/nowhere')).json()) as {
      error: { recovery: { links: { docs: string } } };
    };
    const page = await get(new URL(error.recovery.links.docs).pathname);
    expect(await page.text()).toContain('route_not_found');
  });

  it('is loaded in less than 120 KB, from files that never change', async () => {
    const html = await (await get('/')).text();
    let bytes = html.length;
    for (const path of assetsIn(html)) {
      expect(path).toMatch(/-[\w-]{8}\.(js|css|svg)$/);
      const response = await get(path, { 'accept-encoding': 'gzip' });
      expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(response.headers.get('content-encoding')).toBe('gzip');
      expect(response.headers.get('vary')).toBe('Accept-Encoding');
      bytes += Number(response.headers.get('content-length'));
      const plain = await get(path, { 'accept-encoding': 'identity' });
      expect(plain.headers.get('content-encoding')).toBeNull();
      expect(await plain.text()).toBe(await response.text());
    }
    expect(assetsIn(html).length).toBeGreaterThanOrEqual(3);
    expect(bytes).toBeLessThan(FIRST_LOAD_BYTES);
  });

  it('answers a person at an unknown address with a page, and a program with the error', async () => {
    const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
    const page = await get('/nowhere/at/all', browser);
    expect([page.status, page.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'self'");
    expect(page.headers.get('cache-control')).toBe('no-store');
    for (const [path, headers] of [
      ['/nowhere/at/all', { accept: 'application/json' }],
      ['/nowhere/at/all', {}],
      ['/api/v1/nowhere', browser],
      ['/api', browser],
      ['/assets/nowhere.js', browser],
      ['/assets/%2e%2e%2findex.html', browser],
      ['/.well-known/nowhere', browser],
    ] as [string, Record<string, string>][]) {
      const answer = await get(path, headers);
      expect([path, answer.status, await answer.json()]).toMatchObject([
        path,
        404,
        { success: false, error: { code: 'NOT_FOUND' } },
      ]);
    }
    expect((await fetch(`${harness.origin}/catalog`, { method: 'POST', headers: browser })).status).toBe(405);
  });

  it('leaves the interface where it was', async () => {
    expect(await (await get('/api/v1/health', { accept: 'text/html' })).json()).toMatchObject({ success: true });
    expect(await (await get('/llms.txt', { accept: 'text/html' })).text()).toMatch(/^# Agent Marketplace/);
  });
});
