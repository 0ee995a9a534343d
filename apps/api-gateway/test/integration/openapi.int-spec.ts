import { EdgeHarness } from '../support/edge-harness.js';
import { send } from '../support/http.js';
import { OpenApiDocument, type Media } from '../support/openapi-document.js';

describe('the OpenAPI document', () => {
  let harness: EdgeHarness;
  let served: OpenApiDocument;

  beforeAll(async () => {
    harness = await EdgeHarness.start();
    served = new OpenApiDocument((await send(harness, 'GET', '/openapi.json')).json);
  });
  afterAll(() => harness.stop());

  it('is OpenAPI 3.1 and names each operation once', () => {
    expect(served.document.openapi).toBe('3.1.0');
    expect(new Set(served.operations.map(({ operationId }) => operationId)).size).toBe(served.operations.length);
    expect(served.operations.every(({ summary }) => summary.length > 5)).toBe(true);
  });

  it('says of each operation whom it is open to', () => {
    const accessOf = (name: string): unknown => served.operation(name)['x-access'];
    expect(served.operations.filter((operation) => operation['x-access'] === undefined)).toEqual([]);
    expect(accessOf('GET /categories')).toEqual({ credential: 'none', account_types: ['agent', 'human'] });
    expect(accessOf('GET /listings/{listingId}')).toEqual({
      credential: 'optional',
      account_types: ['agent', 'human'],
      owners: true,
    });
    expect(accessOf('GET /me')).toEqual({ credential: 'required', account_types: ['agent', 'human'], owners: true });
    expect(accessOf('GET /ledger')).toEqual({
      credential: 'required',
      scope: 'read',
      account_types: ['agent'],
      owners: true,
    });
    expect(accessOf('POST /gateway/{listingId}')).toEqual({
      credential: 'required',
      scope: 'subscribe',
      account_types: ['agent'],
    });
  });

  it('names the session and agent_id on what is open to owners, and nowhere else', () => {
    for (const { name, parameters, security = [], 'x-access': access } of served.operations) {
      const { owners, account_types: accounts } = access as { owners?: boolean; account_types: string[] };
      const namesAgent = parameters.some((parameter) => parameter.in === 'query' && parameter.name === 'agent_id');
      expect([name, namesAgent]).toEqual([name, owners === true]);
      if (owners || accounts.includes('agent'))
        expect([
          name,
          security.some((way) => 'session' in way) && security.some((way) => 'session_cookie' in way),
        ]).toEqual([name, owners === true]);
    }
  });

  it('has every header of the contract on the operation it belongs to', () => {
    const headersOf = (name: string): string[] =>
      served
        .operation(name)
        .parameters.filter((parameter) => parameter.in === 'header')
        .map((parameter) => parameter.name);
    expect(headersOf('POST /gateway/{listingId}')).toEqual(
      expect.arrayContaining([
        'Idempotency-Key',
        'X-Market-Origin-Currency',
        'X-Market-Origin-Chain-Id',
        'X-Market-Origin-Wallet-Id',
        'X-Market-Relay-Request-Id',
        'X-Market-Payment-Scheme',
        'X-Market-Payment-Network',
        'X-Request-Id',
      ]),
    );
    for (const name of ['POST /listings', 'POST /api-keys']) expect(headersOf(name)).toContain('Idempotency-Key');
  });

  const UNCOUNTED = ['GET /health', 'POST /sandbox/payments/{relayRequestId}/pay'];

  it('has 429 with Retry-After on all that is counted, and says how counting is told', () => {
    for (const { name, responses } of served.operations.filter((operation) => !UNCOUNTED.includes(operation.name))) {
      expect([name, Object.keys(responses['429']?.headers ?? {}).sort()]).toEqual([
        name,
        ['RateLimit', 'RateLimit-Policy', 'Retry-After'],
      ]);
      if (responses['503'])
        expect([name, Object.keys(responses['503'].headers ?? {})]).toEqual([name, ['Retry-After']]);
    }
  });

  it('gives a schema and an example for every body, asked or answered', () => {
    for (const { name, requestBody, responses } of served.operations) {
      const bodies = [
        ...Object.values(requestBody?.content ?? {}),
        ...Object.values(responses).flatMap(({ content }) => Object.values(content ?? {})),
      ];
      for (const { schema, example, examples } of bodies) {
        expect([name, typeof schema]).toEqual([name, 'object']);
        expect([name, example !== undefined || Object.keys(examples ?? {}).length > 0]).toEqual([name, true]);
      }
    }
  });

  it('gives examples that fit their schemas', () => {
    for (const { name, requestBody, responses } of served.operations) {
      const bodies: [string | undefined, Media | undefined][] = [
        [undefined, requestBody?.content['application/json']],
        ...Object.entries(responses).map(([status, { content }]): [string, Media | undefined] => [
          status,
          content?.['application/json'],
        ]),
      ];
      for (const [status, media] of bodies) {
        for (const value of [
          ...(media?.example === undefined ? [] : [media.example]),
          ...Object.values(media?.examples ?? {}).map((entry) => entry.value),
        ]) {
          expect(served.misfits(name, status, value)).toEqual([]);
        }
      }
    }
  });

  it('writes once what operations share', async () => {
    const { text } = await send(harness, 'GET', '/openapi.json');
    expect(text.length).toBeLessThan(JSON.stringify(served.document).length / 1.5);
  });

  it('is sent compressed to who takes that, and not again to who has it', async () => {
    const get = (headers: Record<string, string>): Promise<Response> =>
      fetch(`${harness.origin}/api/v1/openapi.json`, { headers });
    const [plain, gzipped] = [await get({ 'accept-encoding': 'identity' }), await get({ 'accept-encoding': 'gzip' })];
    expect([plain, gzipped].map(({ headers }) => headers.get('content-encoding'))).toEqual([null, 'gzip']);
    expect(gzipped.headers.get('vary')).toContain('Accept-Encoding');
    expect(Number(gzipped.headers.get('content-length'))).toBeLessThan(100_000);
    expect(await gzipped.text()).toBe(await plain.text());
    expect((await get({ 'if-none-match': gzipped.headers.get('etag')! })).status).toBe(304);
  });
});
