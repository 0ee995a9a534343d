import fc from 'fast-check';

/** One request that a client in its right mind does not send. */
export interface BadRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer>;
}

interface Operation {
  parameters?: { in: string; name: string }[];
  requestBody?: { content: Record<string, { examples?: Record<string, { value: unknown }>; example?: unknown }> };
}

export interface OpenApiDocument {
  paths: Record<string, Record<string, Operation>>;
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

const strangeText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom('', ' ', '\u0000', '\ud800', '../../etc/passwd', "' OR 1=1 --", '%00', '{{7*7}}', '<script>', '0', '-1', '1e400', 'NaN', 'null', '01995bad-5c00-7000-8000-00000000dead', '\u202e', 'x'.repeat(5_000), '__proto__'),
);
const strangeValue = fc.oneof(strangeText, fc.jsonValue({ maxDepth: 3 }), fc.constantFrom<unknown>(null, true, -0, 2 ** 53, 1e308, -1, 0.1, [], {}, [[[[]]]], { __proto__: 1 }, { constructor: { prototype: 1 } }));
const printable = (text: string): string => text.replaceAll(/[^\x21-\x7e]/g, '').slice(0, 200);

const nested = (depth: number, open: string, close: string): string => open.repeat(depth) + close.repeat(depth);
const strangeBody: fc.Arbitrary<string | Uint8Array<ArrayBuffer>> = fc.oneof(
  fc.json({ maxDepth: 4 }),
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.uint8Array({ maxLength: 100 }).map((bytes) => new Uint8Array(bytes)),
  fc.constantFrom('', '{', '[', '"', 'null', 'true', '1', '[]', '{}', '{"a":1,"a":2}', '{"__proto__":{"polluted":true}}', '{"constructor":{"prototype":{"polluted":true}}}', '\ufeff{}', '{}{}', '{"n":1e999}', '{"n":-0}', '"\\ud800"', '{"\\u0000":1}', nested(5_000, '[', ']'), `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`, `{"a":"${'x'.repeat(300_000)}"}`, `[${'1,'.repeat(5_000)}1]`),
);
const strangeHeaders = fc.record(
  {
    'content-type': fc.constantFrom('application/json', 'application/json; charset=utf-16', 'text/plain', 'multipart/form-data; boundary=x', 'application/x-www-form-urlencoded', 'application/json, application/json', 'nonsense'),
    'content-encoding': fc.constantFrom('gzip', 'identity', 'br'),
    'idempotency-key': strangeText.map(printable),
    'x-market-relay-request-id': strangeText.map(printable),
    'x-market-origin-currency': fc.constantFrom('USDC', 'usdc', 'BTC', ''),
    'x-market-origin-chain-id': strangeText.map(printable),
    'x-market-origin-wallet-id': strangeText.map(printable),
    'x-request-id': strangeText.map(printable),
    traceparent: fc.constantFrom('00-0-0-0', 'nonsense', `00-${'0'.repeat(32)}-${'0'.repeat(16)}-00`),
    authorization: strangeText.map((text) => `Bearer ${printable(text)}`),
    'x-http-method-override': fc.constantFrom('DELETE', 'GET'),
    accept: fc.constantFrom('text/html', 'application/xml', '*/*'),
    range: fc.constant('bytes=0-1'),
    'if-none-match': fc.constantFrom('*', '"x"', 'W/"'),
  },
  { requiredKeys: [] },
);

/** Bad requests to every operation of the document: strange paths, queries, headers and bodies, and valid bodies with one thing wrong. */
export function badRequests(document: OpenApiDocument): fc.Arbitrary<BadRequest> {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) => METHODS.filter((method) => method in methods).map((method) => ({ path, method, operation: methods[method]! })));
  return fc.constantFrom(...operations).chain(({ path, method, operation }) => {
    const examples = Object.values(operation.requestBody?.content ?? {}).flatMap(({ example, examples: named }) => [example, ...Object.values(named ?? {}).map(({ value }) => value)].filter((value) => value !== undefined));
    const query = fc.dictionary(fc.oneof(fc.constantFrom('page', 'limit', 'sort', 'q', 'role', 'from', 'category', ...namesOf(operation, 'query')), strangeText), strangeText, { maxKeys: 3 });
    return fc.record({
      method: fc.oneof({ weight: 9, arbitrary: fc.constant(method.toUpperCase()) }, { weight: 1, arbitrary: fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS') }),
      path: fc.tuple(strangeText, query).map(([text, parameters]) => filledIn(path, text) + queryOf(parameters)),
      headers: fc.oneof({ weight: 2, arbitrary: fc.constant({ 'content-type': 'application/json' }) }, { weight: 1, arbitrary: strangeHeaders }) as fc.Arbitrary<Record<string, string>>,
      body: method === 'get' ? fc.constant(undefined) : examples.length > 0 ? fc.oneof(strangeBody, fc.constantFrom(...examples).chain(mutated)) : strangeBody,
    });
  });
}

/** A URL cannot carry half a surrogate pair. */
const wellFormed = (text: string): string => text.replaceAll(/\p{Surrogate}/gu, '\ufffd');
const namesOf = (operation: Operation, place: string): string[] => (operation.parameters ?? []).filter((parameter) => parameter.in === place).map(({ name }) => name);
const filledIn = (path: string, text: string): string => path.replaceAll(/\{[^}]+\}/g, () => encodeURIComponent(wellFormed(text)).replaceAll('.', '%2e') || '%20');
const queryOf = (parameters: Record<string, string>): string => {
  const query = new URLSearchParams(Object.entries(parameters).map(([name, value]): [string, string] => [wellFormed(name), wellFormed(value)])).toString();
  return query ? `?${query}` : '';
};

/** A body that would be good, with one field replaced, removed or added. */
function mutated(example: unknown): fc.Arbitrary<string> {
  if (typeof example !== 'object' || example === null) return fc.constant(JSON.stringify(example));
  const fields = Object.keys(example);
  return fc.record({ field: fc.constantFrom(...fields, 'unknown', 'id', 'status', 'is_verified'), value: fc.option(strangeValue, { nil: undefined }) }).map(({ field, value }) => JSON.stringify({ ...example, [field]: value }));
}
