import { countOf, TEST_SEED } from '@market/test-servers/threats';
import fc from 'fast-check';
import { CATEGORY_ID, LISTING_ID, RELAY_REQUEST_ID } from '../../src/openapi/example-values.js';
import { answerEverything } from '../support/answers.js';
import { EdgeHarness } from '../support/edge-harness.js';
import { expectEnvelope, send, type Answer, type Sent } from '../support/http.js';

const RUNS = countOf('edgeFuzz');
const CONCURRENCY = 32;
/** Another seed makes another test; set TEST_SEED to repeat a run that failed. */
const SEED = TEST_SEED;

interface DocumentedOperation {
  parameters: { name: string; in: string }[];
  requestBody?: { content: Record<string, { examples: Record<string, { value: object }> }> };
}

interface Attempt extends Sent {
  method: string;
  path: string;
}

const oddText = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.constantFrom(
    '',
    ' ',
    '\0',
    '\ud800',
    '../..',
    '%00',
    "' OR 1=1;--",
    '<script>',
    '👩'.repeat(120),
    'x'.repeat(6_000),
    'null',
    '-1',
    '1e400',
    '9'.repeat(40),
    '2026-02-31T99:99:99Z',
    'javascript:alert(1)',
    LISTING_ID,
    CATEGORY_ID,
    RELAY_REQUEST_ID,
  ),
);
const oddValue = fc.oneof(
  oddText,
  fc.jsonValue({ maxDepth: 4 }),
  fc.constantFrom(null, true, -1, 0, 1.5, 1e308, -0, [], {}, [[]], [null], { length: 1 }),
);
const oddKey = fc.oneof(
  oddText,
  fc.constantFrom('__proto__', 'constructor', 'toString', 'id', 'provider_id', 'is_verified', 'then', 'length'),
);
const visible = fc.string({
  unit: fc.constantFrom(...Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index))),
  maxLength: 300,
});

/** Generates the documented example with some members changed, removed or added. */
const mutated = (example: object): fc.Arbitrary<object> =>
  fc
    .tuple(
      fc.subarray(Object.keys(example)),
      fc.dictionary(fc.constantFrom(...Object.keys(example), 'nope'), oddValue, { maxKeys: 3 }),
      fc.dictionary(oddKey, oddValue, { maxKeys: 2 }),
    )
    .map(([dropped, changed, added]) => {
      const kept = Object.fromEntries(
        Object.entries(example).filter(([name]) => !dropped.includes(name) || name in changed),
      );
      return { ...kept, ...changed, ...added };
    });

const mangled = (text: string): fc.Arbitrary<Buffer> =>
  fc
    .tuple(fc.nat(text.length), fc.nat(8), fc.uint8Array({ maxLength: 8 }))
    .map(([at, removed, inserted]) =>
      Buffer.concat([Buffer.from(text).subarray(0, at), inserted, Buffer.from(text).subarray(at + removed)]),
    );

function attemptOf(
  method: string,
  template: string,
  { parameters, requestBody }: DocumentedOperation,
  keys: string[],
): fc.Arbitrary<Attempt> {
  const segment = fc.oneof(
    fc.constantFrom(LISTING_ID, 'hourly-weather', RELAY_REQUEST_ID),
    oddText.map((text) => safeEncode(text)),
    fc.constantFrom('%', '%zz', '%2e%2e', '%E0%A4%A', '..', '*', '?', '#'),
  );
  const path = fc
    .array(segment, { minLength: 3, maxLength: 3 })
    .map((segments) => template.replaceAll(/\{\w+\}/g, () => segments.pop() ?? 'x'));
  const names = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
  const query = fc
    .array(fc.tuple(fc.oneof(fc.constantFrom(...names, 'page', 'nope'), oddKey), oddText), { maxLength: 3 })
    .map((pairs) => pairs.map(([name, value]) => `${safeEncode(name)}=${safeEncode(value)}`).join('&'));
  const headerNames = parameters.filter((parameter) => parameter.in === 'header').map(({ name }) => name);
  const headers = fc.dictionary(
    fc.constantFrom(
      ...headerNames,
      'accept',
      'content-type',
      'content-encoding',
      'if-none-match',
      'origin',
      'x-forwarded-for',
    ),
    fc.oneof(visible, fc.constantFrom('application/json', RELAY_REQUEST_ID, 'SOL', 'identity')),
    { maxKeys: 2 },
  );
  const example = Object.values(Object.values(requestBody?.content ?? {})[0]?.examples ?? {})[0]?.value ?? {};
  const body = fc.oneof(
    { weight: 6, arbitrary: mutated(example) },
    { weight: 1, arbitrary: mangled(JSON.stringify(example)) },
    { weight: 1, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.json() },
    // Some are as documented: with every body changed, few requests would come further than the checks.
    { weight: 2, arbitrary: fc.constant(example) },
  );
  return fc
    .record({ path, query, headers, body, key: fc.option(fc.constantFrom(...keys), { freq: 8, nil: undefined }) })
    .map(({ path: asked, query: filters, headers: sent, ...rest }) => ({
      method,
      path: `${asked.replace('/api/v1', '')}${filters && `?${filters}`}`,
      headers: sent as Record<string, string>,
      ...rest,
      body: method === 'GET' ? undefined : rest.body,
    }));
}

const safeEncode = (text: string): string => encodeURIComponent(text.replaceAll(/\p{Surrogate}/gu, '\ufffd'));

/** Discovery answers have the format of facilitators instead of the envelope. */
const hasNoEnvelope = ({ status, headers }: Answer, path: string): boolean =>
  status === 304 ||
  status === 204 ||
  String(headers['content-type']).startsWith('text/csv') ||
  (status === 200 && path.startsWith('/discovery/'));

describe('the edge under fuzz', () => {
  let harness: EdgeHarness;

  beforeAll(async () => {
    harness = await EdgeHarness.start();
    answerEverything(harness.bus);
  });
  afterAll(() => harness.stop());

  it(
    `answers ${RUNS} odd requests in the envelope, none of them with 5xx`,
    async () => {
      const { paths } = (await send(harness, 'GET', '/openapi.json')).json as unknown as {
        paths: Record<string, Record<string, DocumentedOperation>>;
      };
      const keys = [
        harness.agent().key,
        harness.agent().key,
        harness.agent(['read']).key,
        harness.agent(['write']).key,
        `${harness.agent().key}x`,
      ];
      const operations = Object.entries(paths).flatMap(([path, methods]) =>
        path.endsWith('openapi.json')
          ? []
          : Object.entries(methods).map(([method, operation]) =>
              attemptOf(method.toUpperCase(), path, operation, keys),
            ),
      );
      const attempts = fc.sample(fc.oneof(...operations), { numRuns: RUNS, seed: SEED });
      const statuses = new Map<number, number>();

      const work = async (): Promise<void> => {
        for (let attempt = attempts.pop(); attempt; attempt = attempts.pop()) {
          const { method, path, ...sent } = attempt;
          const answer = await send(harness, method, path, sent);
          statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
          try {
            if (!hasNoEnvelope(answer, path)) expectEnvelope(answer);
          } catch (error) {
            throw new Error(
              `seed ${SEED}: ${method} ${path} ${JSON.stringify(sent)} answered ${answer.status} ${answer.text.slice(0, 500)}`,
              { cause: error },
            );
          }
        }
      };
      await Promise.all(Array.from({ length: CONCURRENCY }, work));

      // All these statuses must occur, otherwise the requests are not diverse enough.
      for (const status of [200, 201, 400, 401, 403, 404, 415])
        expect([status, (statuses.get(status) ?? 0) > 0]).toEqual([status, true]);
    },
    120_000 + RUNS * 5,
  );
});
