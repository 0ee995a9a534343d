import { EdgeWorld } from '../support/edge-world.js';
import { send } from '../support/http.js';

interface Media {
  schema: object;
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
}

interface Operation {
  operationId: string;
  summary: string;
  'x-access'?: object;
  parameters: { name: string; in: string }[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, { description: string; headers?: object; content?: Record<string, Media> }>;
}

interface Document {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, object>; securitySchemes: object };
}

describe('the OpenAPI document', () => {
  let world: EdgeWorld;
  let document: Document;
  let operations: (Operation & { name: string; path: string })[];

  beforeAll(async () => {
    world = await EdgeWorld.start();
    document = (await send(world, 'GET', '/openapi.json')).json as unknown as Document;
    operations = Object.entries(document.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, operation]) => ({ ...operation, path, name: `${method.toUpperCase()} ${path}` })));
  });
  afterAll(() => world.stop());

  it('is OpenAPI 3.1 and names each operation once', () => {
    expect(document.openapi).toBe('3.1.0');
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
    expect(operations.every(({ summary }) => summary.length > 5)).toBe(true);
  });

  it('says of each operation whom it is open to', () => {
    const accessOf = (name: string): unknown => operations.find((operation) => operation.name === name)!['x-access'];
    expect(operations.filter((operation) => operation['x-access'] === undefined)).toEqual([]);
    expect(accessOf('GET /api/v1/listings')).toEqual({ credential: 'none', account_types: ['agent', 'human'] });
    expect(accessOf('GET /api/v1/listings/{listingId}')).toEqual({ credential: 'optional', account_types: ['agent', 'human'] });
    expect(accessOf('GET /api/v1/me')).toEqual({ credential: 'required', account_types: ['agent', 'human'] });
    expect(accessOf('POST /api/v1/gateway/{listingId}')).toEqual({ credential: 'required', scope: 'subscribe', account_types: ['agent'] });
  });

  it('has every header of the contract on the operation it belongs to', () => {
    const headersOf = (name: string): string[] => operations.find((operation) => operation.name === name)!.parameters.filter((parameter) => parameter.in === 'header').map((parameter) => parameter.name);
    expect(headersOf('POST /api/v1/gateway/{listingId}')).toEqual(
      expect.arrayContaining(['Idempotency-Key', 'X-Market-Origin-Currency', 'X-Market-Origin-Chain-Id', 'X-Market-Origin-Wallet-Id', 'X-Market-Relay-Request-Id', 'X-Market-Payment-Scheme', 'X-Market-Payment-Network', 'X-Request-Id']),
    );
    for (const name of ['POST /api/v1/listings', 'POST /api/v1/api-keys']) expect(headersOf(name)).toContain('Idempotency-Key');
  });

  it('has every status the contract names', () => {
    const statusesOf = (name: string): string[] => Object.keys(operations.find((operation) => operation.name === `${name.split(' ')[0]} /api/v1${name.split(' ')[1]}`)!.responses);
    const named: Record<string, string[]> = {
      'POST /auth/challenge': ['200', '400', '429'],
      'POST /register': ['201', '400', '409', '429'],
      'GET /me': ['200', '401'],
      'GET /api-keys': ['200', '401'],
      'POST /api-keys': ['201', '401'],
      'DELETE /api-keys/{keyId}': ['200', '401', '404'],
      'GET /listings/{listingId}': ['200', '404'],
      'POST /listings/challenge': ['200', '401', '403'],
      'POST /listings': ['201', '400', '401', '403'],
      'PATCH /listings/{listingId}': ['200', '401', '403', '404'],
      'DELETE /listings/{listingId}': ['200', '401', '403', '404'],
      'POST /gateway/{listingId}': ['200', '202', '400', '401', '402', '403', '404', '409', '413', '429'],
      'GET /receipts': ['200', '401'],
      'GET /receipts/{receiptId}': ['200', '401', '404'],
    };
    for (const [name, statuses] of Object.entries(named)) expect(statusesOf(name)).toEqual(expect.arrayContaining(statuses));
  });

  it('gives a schema and an example for every body, asked or answered', () => {
    for (const { name, requestBody, responses } of operations) {
      const bodies = [...Object.values(requestBody?.content ?? {}), ...Object.values(responses).flatMap(({ content }) => Object.values(content ?? {}))];
      for (const { schema, example, examples } of bodies) {
        expect([name, typeof schema]).toEqual([name, 'object']);
        expect([name, example !== undefined || Object.keys(examples ?? {}).length > 0]).toEqual([name, true]);
      }
    }
  });

  it('gives examples that fit their schemas', () => {
    for (const { name, responses } of operations) {
      for (const [status, { content }] of Object.entries(responses)) {
        const { schema, example, examples } = content?.['application/json'] ?? { schema: {} };
        for (const value of example === undefined ? Object.values(examples ?? {}).map((entry) => entry.value) : [example]) {
          expect([name, status, misfits(schema as Schema, value, document)]).toEqual([name, status, []]);
        }
      }
    }
  });

  it('can be read as a page, with everything it needs served from here', async () => {
    const html = await (await fetch(`${world.origin}/docs`)).text();
    expect(html).toContain('swagger-ui');
    const needed = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => new URL(address!, `${world.origin}/docs`));
    expect(needed.length).toBeGreaterThan(3);
    for (const address of needed) {
      expect(address.origin).toBe(world.origin);
      const asset = await fetch(address);
      expect([asset.status, (await asset.text()).length > 0]).toEqual([200, true]);
    }
  });

  it('has a companion for language models that names where things are', async () => {
    const answer = await fetch(`${world.origin}/llms.txt`);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    expect(await answer.text()).toContain('https://market.test/api/v1/openapi.json');
  });
});

interface Schema {
  $ref?: string;
  allOf?: Schema[];
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  required?: string[];
  properties?: Record<string, Schema>;
  items?: Schema;
  pattern?: string;
}

/** Where a value does not fit a schema, for the keywords our document uses. */
function misfits(schema: Schema, value: unknown, document: Document, path = '$'): string[] {
  if (schema.$ref) return misfits(document.components.schemas[schema.$ref.split('/').at(-1)!] as Schema, value, document, path);
  if (schema.allOf) return schema.allOf.flatMap((part) => misfits(part, value, document, path));
  const types = [schema.type ?? []].flat();
  const actual = value === null ? ['null'] : Array.isArray(value) ? ['array'] : Number.isInteger(value) ? ['integer', 'number'] : [typeof value];
  if (types.length > 0 && !types.some((type) => actual.includes(type))) return [`${path} is ${actual[0]}, not ${types.join(' or ')}`];
  if (schema.enum && !schema.enum.includes(value)) return [`${path} is not one of ${schema.enum.join(', ')}`];
  if ('const' in schema && schema.const !== value) return [`${path} is not ${String(schema.const)}`];
  if (schema.pattern && !new RegExp(schema.pattern).test(String(value))) return [`${path} does not match ${schema.pattern}`];
  if (Array.isArray(value)) return value.flatMap((item, index) => misfits(schema.items ?? {}, item, document, `${path}[${index}]`));
  if (typeof value !== 'object' || value === null) return [];
  const members = value as Record<string, unknown>;
  const missing = (schema.required ?? []).filter((name) => !(name in members)).map((name) => `${path}.${name} is missing`);
  return [...missing, ...Object.entries(schema.properties ?? {}).flatMap(([name, member]) => (name in members ? misfits(member, members[name], document, `${path}.${name}`) : []))];
}
