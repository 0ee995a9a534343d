import { NEXT_ACTIONS } from '@market/kernel';
import { answerEverything } from '../support/answers.js';
import { EdgeHarness } from '../support/edge-harness.js';
import { expectRefused, send, type Answer } from '../support/http.js';

describe('what the marketplace says of itself', () => {
  let harness: EdgeHarness;

  beforeAll(async () => {
    harness = await EdgeHarness.start({ API_GATEWAY_SECURITY_CONTACT: 'mailto:security@market.test' });
    answerEverything(harness.bus);
  });
  afterAll(() => harness.stop());

  /** Sends a GET request outside the version prefix. */
  const get = async (
    path: string,
    headers: Record<string, string> = {},
    method = 'GET',
  ): Promise<{ status: number; headers: Headers; text: string }> => {
    const response = await fetch(harness.origin + path, { headers, method });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };

  it('is found where RFC 9727 says', async () => {
    const { status, headers, text } = await get('/.well-known/api-catalog');
    expect([status, headers.get('content-type'), headers.get('link')]).toEqual([
      200,
      'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"; charset=utf-8',
      '<https://market.test/.well-known/api-catalog>; rel="api-catalog"',
    ]);
    const { linkset } = JSON.parse(text) as { linkset: Record<string, { href: string }[]>[] };
    expect(linkset).toHaveLength(1);
    const { anchor, ...links } = linkset[0]!;
    expect(anchor).toBe('https://market.test/api/v1');
    expect(Object.keys(links)).toEqual(['service-desc', 'service-doc', 'status']);
    for (const { href } of Object.values(links).flat()) expect((await get(new URL(href).pathname)).status).toBe(200);
    expect((await get('/.well-known/api-catalog', {}, 'HEAD')).headers.get('link')).toBe(headers.get('link'));
  });

  it('names the security contact that the operator configured', async () => {
    const { status, headers, text } = await get('/.well-known/security.txt');
    expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    const fields = Object.fromEntries(
      text
        .trim()
        .split('\n')
        .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
    );
    expect(fields).toEqual({
      Contact: 'mailto:security@market.test',
      Expires: expect.stringMatching(/^\d{4}-\d\d-\d\dT00:00:00Z$/),
      'Preferred-Languages': 'en',
      Canonical: 'https://market.test/.well-known/security.txt',
    });
    expect(Date.parse(fields.Expires!) - Date.now()).toBeGreaterThan(90 * 86_400_000);
    expect(Date.parse(fields.Expires!) - Date.now()).toBeLessThan(365 * 86_400_000);

    const unsaid = await EdgeHarness.start();
    expect((await fetch(`${unsaid.origin}/.well-known/security.txt`)).status).toBe(404);
    await unsaid.stop();
    await expect(EdgeHarness.start({ API_GATEWAY_SECURITY_CONTACT: 'call me' })).rejects.toThrow(
      'API_GATEWAY_SECURITY_CONTACT',
    );
  });

  it('names to language models every operation but those of operators, in less than 6,000 tokens', async () => {
    const { text, headers } = await get('/llms.txt');
    expect(headers.get('content-type')).toBe('text/plain; charset=utf-8');
    const { paths } = (await send(harness, 'GET', '/openapi.json')).json as unknown as {
      paths: Record<string, Record<string, { summary: string }>>;
    };
    expect(text).not.toContain('/admin/');
    // A token of English, code and punctuation is three characters at least.
    expect(text.length / 3).toBeLessThan(6_000);
    for (const [path, item] of Object.entries(paths)) {
      if (path.startsWith('/api/v1/admin/')) continue;
      for (const [method, { summary }] of Object.entries(item))
        expect(text).toContain(`- ${method.toUpperCase()} ${path.replace('/api/v1', '')}: ${summary}\n`);
    }
  });

  it('is not sent again to who has it', async () => {
    for (const path of ['/llms.txt', '/.well-known/api-catalog', '/.well-known/security.txt']) {
      const etag = (await get(path)).headers.get('etag')!;
      const again = await get(path, { 'if-none-match': etag });
      expect([path, again.status, again.text]).toEqual([path, 304, '']);
    }
  });

  it('lists the closed set of next actions, each with its meaning', async () => {
    const { json } = await send(harness, 'GET', '/recovery-actions');
    expect(
      (json.data as unknown as { next_action: string; meaning: string }[]).map(({ next_action }) => next_action),
    ).toEqual([...NEXT_ACTIONS]);
  });

  it('knows nothing else there', async () => {
    for (const path of [
      '/.well-known/openid-configuration',
      '/.well-known/',
      '/.well-known',
      '/api',
      '/api/v1',
      '/api/v2/health',
      '/favicon.ico',
    ]) {
      const { status, text } = await get(path);
      expect([path, status, (JSON.parse(text) as Answer['json']).error!.code]).toEqual([path, 404, 'NOT_FOUND']);
    }
    expectRefused(await send(harness, 'POST', '/openapi.json'), 405, 'METHOD_NOT_ALLOWED');
  });
});
