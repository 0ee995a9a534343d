import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { openApiServices } from './openapi-services.js';

const document = (operations: Record<string, object>, more: object = {}): object => ({
  openapi: '3.0.3',
  info: { title: 'An API', version: '1' },
  paths: Object.fromEntries(
    Object.entries(operations).map(([where, operation]) => {
      const [method, path] = where.split(' ') as [string, string];
      return [path, { [method.toLowerCase()]: { responses: {}, ...operation } }];
    }),
  ),
  ...more,
});
const servicesOf = (of: object, headers?: Record<string, string>) =>
  openApiServices(of, { upstream: 'http://localhost', headers });
const listingOf = (operation: object, more?: object) =>
  servicesOf(document({ 'POST /it/{id}': operation }, more)).services[0]!.listing;
const parameter = (name: string, schema: object = { type: 'string' }, more: object = {}) => ({
  name,
  in: 'query',
  schema,
  ...more,
});
const jsonBody = (schema: object, more: object = {}) => ({
  requestBody: { required: true, content: { 'application/json': { schema, ...more } } },
});

describe('a listing of an operation', () => {
  it('takes parameters and the body as one object, with an example', () => {
    const id = parameter('id', { type: 'integer', minimum: 5 }, { in: 'path', required: true });
    const fields = listingOf({
      operationId: 'it',
      summary: 'Does it',
      description: 'Does it, as it is asked to.',
      tags: ['doing'],
      parameters: [id, parameter('id'), parameter('limit', { type: 'integer' }, { example: 3 })],
      ...jsonBody({ type: 'object', required: ['on'], properties: { on: { type: 'string', format: 'date' } } }),
    });

    expect(fields).toEqual({
      name: 'Does it',
      description: 'Does it, as it is asked to.',
      tags: ['doing'],
      formats: ['json'],
      input_schema: {
        type: 'object',
        properties: {
          id: { type: 'integer', minimum: 5 },
          query_id: { type: 'string' },
          limit: { type: 'integer', examples: [3] },
          body: { type: 'object', required: ['on'], properties: { on: { type: 'string', format: 'date' } } },
        },
        required: ['id', 'body'],
        additionalProperties: false,
      },
      example_input: { id: 5, limit: 3, body: { on: '2026-01-31' } },
    });
  });

  it('takes a body alone as it is, with what it refers to, even in circles', () => {
    const { input_schema, example_input } = listingOf(jsonBody({ $ref: '#/components/schemas/Tree' }), {
      components: {
        schemas: {
          Tree: {
            type: 'object',
            required: ['name', 'kind'],
            properties: {
              name: { type: 'string', nullable: true, example: 'oak' },
              kind: { allOf: [{ $ref: '#/components/schemas/Kind' }], nullable: true },
              height: { type: 'number', minimum: 0, exclusiveMinimum: true },
              branches: { type: 'array', items: { $ref: '#/components/schemas/Tree' } },
              example: { type: 'string', enum: ['a'], nullable: true },
            },
          },
          Kind: { type: 'string', enum: ['leaf', 'needle'] },
        },
      },
    });

    const tree = {
      type: 'object',
      required: ['name', 'kind'],
      properties: {
        name: { type: ['string', 'null'], examples: ['oak'] },
        kind: { anyOf: [{ allOf: [{ $ref: '#/$defs/Kind' }] }, { type: 'null' }] },
        height: { type: 'number', exclusiveMinimum: 0 },
        branches: { type: 'array', items: { $ref: '#/$defs/Tree' } },
        example: { type: ['string', 'null'], enum: ['a', null] },
      },
    };
    expect(input_schema).toEqual({
      ...tree,
      $defs: { Tree: tree, Kind: { type: 'string', enum: ['leaf', 'needle'] } },
    });
    expect(example_input).toEqual({ name: 'oak', kind: 'leaf' });
  });

  it('says what it answers with, and has what its seller wrote beside the operation', () => {
    const response = (content: object) => ({ responses: { 200: { content }, 422: { content: { 'text/html': {} } } } });
    expect(
      listingOf(response({ 'text/csv; charset=utf-8': {}, 'text/event-stream': {}, 'image/*': {} })).formats,
    ).toEqual(['json', 'text/csv', 'sse']);
    expect(listingOf(response({ 'application/json': { schema: { type: 'object' } } })).output_schema).toEqual({
      type: 'object',
    });
    expect(listingOf({ 'x-market': { pricing_amount: 0.5, name: 'Mine' } })).toMatchObject({
      name: 'Mine',
      pricing_amount: 0.5,
    });
  });

  it('is not made of what cannot be called with JSON', () => {
    const { services, left } = servicesOf(
      document({
        'POST /raw': { operationId: 'raw', requestBody: { content: { 'image/png': {} } } },
        'GET /cookie': { parameters: [parameter('session', {}, { in: 'cookie', required: true })] },
        'GET /key': { parameters: [parameter('X-Key', {}, { in: 'header', required: true })] },
        'GET /gone': jsonBody({ $ref: '#/components/schemas/Gone' }),
      }),
      { 'x-key': 'secret' },
    );

    expect(services.map(({ id, listing }) => [id, listing.input_schema])).toEqual([
      ['get-key', { type: 'object', properties: {}, additionalProperties: false }],
    ]);
    expect(left).toEqual([
      { id: 'raw', reason: 'Its body is image/png.' },
      { id: 'get-cookie', reason: 'It needs the cookie session.' },
      { id: 'get-gone', reason: '#/components/schemas/Gone refers to nothing.' },
    ]);
    expect(() => servicesOf({ swagger: '2.0' })).toThrow(TypeError);
  });
});

describe('a call of an operation', () => {
  let server: Server;
  let seen: { method?: string; url?: string; type?: string; key?: unknown; body: string } | undefined;
  beforeEach(async () => {
    seen = undefined;
    server = createServer((request, response) => {
      const { method, url, headers } = request;
      void buffer(request).then((body) => {
        seen = { method, url, type: headers['content-type'], key: headers['x-key'], body: body.toString('latin1') };
        response
          .writeHead(url === '/none' ? 204 : 200, { 'content-type': 'application/json' })
          .end(url === '/none' ? '' : '{"a":1}');
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(() => void server.close());

  /** @returns what the API was asked, or else the answer. */
  async function ask(where: string, operation: object, input: object, rawBody = JSON.stringify(input)) {
    const upstream = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { services } = openApiServices(document({ [where]: operation }), { upstream, headers: { 'x-key': 'k' } });
    const answer = await services[0]!.handler({
      body: input,
      rawBody: Buffer.from(rawBody),
      call: { requestId: 'r', buyerId: null },
      signal: new AbortController().signal,
    } as never);
    return seen ?? answer;
  }
  const path = (name: string) => parameter(name, {}, { in: 'path', required: true });

  it('puts each parameter where it belongs', async () => {
    const parameters = [
      path('id'),
      parameter('q'),
      parameter('tags', { type: 'array' }),
      parameter('ids', { type: 'array' }, { explode: false }),
      parameter('filter', { type: 'object' }, { style: 'deepObject', explode: true }),
      { name: 'json', in: 'query', content: { 'application/json': { schema: {} } } },
    ];
    const input = { id: 'a/b ü', q: 'x&y', tags: ['1', '2'], ids: [1, 2], filter: { a: 1 }, json: { b: [] } };

    expect(await ask('GET /it/{id}/of', { parameters }, input)).toMatchObject({
      method: 'GET',
      url: '/it/a%2Fb%20%C3%BC/of?q=x%26y&tags=1&tags=2&ids=1%2C2&filter%5Ba%5D=1&json=%7B%22b%22%3A%5B%5D%7D',
      key: 'k',
    });
  });

  it.each([['..'], ['.'], [''], [undefined]])('does not leave its path for %p', async (id) => {
    expect(await ask('GET /it/{id}', { parameters: [path('id')] }, { id })).toMatchObject({ status: 422 });
    expect(await ask('GET /{id}/of', { parameters: [path('id')] }, { id })).toMatchObject({ status: 422 });
  });

  it('sends JSON as it came, and forms with files from base64', async () => {
    const body = { type: 'object', properties: { n: { type: 'integer' } } };
    expect(await ask('POST /it', jsonBody(body), {}, '{"n":9007199254740993}')).toMatchObject({
      body: '{"n":9007199254740993}',
      type: 'application/json',
    });
    expect(await ask('PUT /it', { ...jsonBody(body), parameters: [parameter('q')] }, { body: { n: 1 } })).toMatchObject(
      {
        body: '{"n":1}',
        url: '/it',
      },
    );
    const form = (mediaType: string) => ({
      requestBody: {
        content: {
          [mediaType]: {
            schema: {
              type: 'object',
              properties: { photo: { type: 'string', format: 'binary' }, of: { type: 'array' } },
            },
          },
        },
      },
    });
    expect(await ask('POST /it', form('application/x-www-form-urlencoded'), { of: ['a', 'b'] })).toMatchObject({
      body: 'of=a&of=b',
    });
    const sent = (await ask('POST /it', form('multipart/form-data'), { photo: '//8=', of: ['a'] })) as { body: string };
    expect(sent.body).toMatch(/name="photo"; filename="photo"\r\n.*\r\n\r\n\xff\xff\r\n[^]*name="of"\r\n\r\na\r\n/);
  });

  it('answers null where the API has nothing to say', async () => {
    seen = undefined;
    const upstream = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const [service] = openApiServices(document({ 'DELETE /none': {} }), { upstream }).services;
    const request = { body: {}, rawBody: Buffer.from('{}'), call: { requestId: 'r', buyerId: 'b' } };
    expect(await service!.handler(request as never)).toBeNull();
  });
});
