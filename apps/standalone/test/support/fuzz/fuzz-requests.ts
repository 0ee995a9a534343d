import { newId } from '@market/kernel';
import fc from 'fast-check';
import { BAD_BODIES, spoilt, WAYS, type Way } from './bad-bodies.js';
import { jsonText } from './json-text.js';
import type { ApiDescription, Operation, Parameter } from './operations.js';
import type { RawRequest } from './raw-client.js';
import { STRANGE_TEXTS, Values, type Known } from './values.js';

const ACTORS = ['anonymous', 'agent', 'human'] as const;
export type Actor = (typeof ACTORS)[number];

/** A planned request, which is complete except for fresh proofs. */
export interface Plan {
  operation: Operation;
  actor: Actor;
  /** Whether its body needs the proofs of a live challenge. */
  isLive: boolean;
  /** Descriptions of its errors; empty for a valid request. */
  done: string[];
  /** @param live members of the body with fresh proofs. */
  request(live?: object): RawRequest;
}

const BODY_METHODS = ['POST', 'PUT', 'PATCH', 'DELETE'];
const ALL_METHODS = ['GET', 'HEAD', 'OPTIONS', ...BODY_METHODS];

const TYPES = [
  'text/plain',
  'application/xml',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/json; charset=utf-16',
  'application/json; charset="utf-8"',
  'APPLICATION/JSON',
  'application/json, text/plain',
  'application/jsonx',
  'application/vnd.api+json',
  'json',
  '',
  ' ',
  'application/json;;',
  `application/json; a=${'x'.repeat(2_000)}`,
  '*/*',
];
const ENCODINGS = ['gzip', 'br', 'deflate', 'identity', 'x', 'gzip, identity', ''];
/** Keeps the characters that Node allows in headers: visible Latin-1. */
const latin = (text: string): string => text.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '').slice(0, 8_000);
const HEADER_TEXTS = [
  ...new Set([
    ...STRANGE_TEXTS.map(latin),
    'é',
    '\xff',
    'a, b',
    'x'.repeat(4_000),
    'x'.repeat(7_900),
    '\t',
    '" "',
    'W/"x"',
    '*',
    'bytes=0-1',
    'close',
    'null',
  ]),
];
const HEADERS = [
  'x-request-id',
  'traceparent',
  'tracestate',
  'accept',
  'accept-encoding',
  'if-none-match',
  'if-match',
  'if-modified-since',
  'range',
  'origin',
  'referer',
  'cookie',
  'sec-fetch-site',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'forwarded',
  'x-real-ip',
  'x-http-method-override',
  'x-method-override',
  'x-original-url',
  'upgrade',
  'via',
  'authorization',
  'content-type',
  'content-encoding',
  'idempotency-key',
  'user-agent',
  'access-control-request-method',
  'payment-signature',
  'proxy-authorization',
  'x-odd',
  '__proto__',
  'constructor',
];
const BAD_CREDENTIALS = [
  'Bearer',
  'Bearer ',
  'Bearer x',
  'Basic YTpi',
  'bearer am_k_',
  `Bearer am_k_${'0'.repeat(49)}`,
  `Bearer am_s_${'0'.repeat(49)}`,
  'am_k_',
  'Bearer null',
  'Bearer é',
  `Bearer ${'x'.repeat(5_000)}`,
];

const QUERY_FORMS: readonly ((name: string, value: string) => string)[] = [
  (name, value) => `${name}=${value}`,
  (name, value) => `${name}=${value}&${name}=${value}`,
  (name, value) => `${name}[]=${value}`,
  (name, value) => `${name}[a]=${value}`,
  (name, value) => `${name}[a][b][c]=${value}`,
  (name, value) => `${name}.a=${value}`,
  (name) => name,
  (name) => `${name}=`,
  (name) => `=${name}`,
  (name, value) => `${name.toUpperCase()}=${value}`,
  (name, value) => `%${name.charCodeAt(0).toString(16)}${name.slice(1)}=${value}`,
  (name, value) => `&&${name}=${value}&&`,
  (name, value) => `${name}=${value};a=b`,
  (name, value) => `${name}=${value}#x`,
  (name, value) => `?${name}=${value}`,
  (name) => `${name}=%`,
  (name) => `${name}=%zz`,
  (name) => `${name}=%ff%fe`,
  (name) => `${name}=%00`,
  (name) => `${name}=%ed%a0%80`,
  (name) => Array(300).fill(`${name}[]=1`).join('&'),
  (name) => `${name}=${'9'.repeat(3_000)}`,
  () => '__proto__[polluted]=1',
  () => 'constructor.prototype.polluted=1',
  () => 'unknown=1',
];

const PATH_FORMS: readonly ((path: string) => string)[] = [
  (path) => `${path}/`,
  (path) => `/${path}`,
  (path) => path.replace('/api/v1', '/api/v1/'),
  (path) => path.toUpperCase(),
  (path) => `${path}.json`,
  (path) => `${path};a=b`,
  (path) => `${path}%00`,
  (path) => `${path}/..`,
  (path) => `${path}/%2e%2e`,
  (path) => path.replace('/v1', '/v2'),
  (path) => path.replace('/api/v1', ''),
  (path) => `${path}%`,
  (path) => `${path}/%E0%A4%A`,
  (path) => path.replace(/[a-z](?=\w*$)/, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
  (path) => `${path}/x`,
  (path) => `${path}/${'x'.repeat(3_000)}`,
];

/** A URL cannot contain unpaired surrogates. */
const encoded = (text: string): string => encodeURIComponent(text.replaceAll(/\p{Surrogate}/gu, '\ufffd'));
const BAD_IDS = [
  ...STRANGE_TEXTS.filter((text) => text.length < 400).map(encoded),
  '%',
  '%zz',
  '%2e%2e',
  '%2f',
  '%252f',
  'x'.repeat(199),
  'x'.repeat(201),
  '*',
  ':id',
  '{id}',
  '.',
  '..;',
  '%ff',
  '%ed%a0%80',
  ...Array.from({ length: 5 }, (_, n) => `${newId()}${n}`),
].filter((id) => id !== '');

interface Spoiling {
  way: Way;
  where: number;
  what: number;
}

/**
 * Generates requests for every operation of the document, valid or with errors in body, query, headers, path or method.
 */
export function fuzzPlans(
  description: ApiDescription,
  known: Known,
  liveOperations: readonly string[],
): fc.Arbitrary<Plan> {
  const values = new Values(description, known);
  return fc.oneof(...description.operations.map((operation) => planOf(operation)));

  function planOf(operation: Operation): fc.Arbitrary<Plan> {
    const { access, body, method, parameters } = operation;
    const examples = [...(body?.examples ?? []), ...((known[`${operation.id} body`] ?? []) as object[])];
    const example = examples.length > 0 ? fc.constantFrom(...examples) : fc.constant({});
    const good = !body
      ? fc.constant({})
      : body.isOpaque
        ? example
        : fc.oneof(
            { weight: 1, arbitrary: example },
            { weight: 3, arbitrary: values.good(body.schema) as fc.Arbitrary<object> },
          );
    const nat = fc.nat({ max: 9_999 });
    return fc
      .record({
        actor: fc.oneof(
          { weight: 1, arbitrary: fc.constantFrom(...ACTORS) },
          { weight: 3, arbitrary: fc.constant<Actor>(access.account_types.includes('agent') ? 'agent' : 'human') },
        ),
        isLive: liveOperations.includes(operation.id) ? fc.boolean() : fc.constant(false),
        ids: fc.record(
          Object.fromEntries(
            inPlace(operation, 'path').map(({ name }) => [
              name,
              fc.constantFrom(...(knownIds(operation, name) as string[])),
            ]),
          ),
        ),
        query: fc.record(
          Object.fromEntries(
            inPlace(operation, 'query').map((parameter) => [
              parameter.name,
              known[`${operation.id} ${parameter.name}`]
                ? fc.constantFrom(...known[`${operation.id} ${parameter.name}`]!)
                : values.good(parameter.schema ?? {}, parameter.name),
            ]),
          ),
          { requiredKeys: [] },
        ),
        headers: fc.record(
          Object.fromEntries(
            inPlace(operation, 'header').map((parameter) => [
              parameter.name,
              seldom(values.good(parameter.schema ?? {}, parameter.name).map((value) => latin(String(value)))),
            ]),
          ),
        ),
        good,
        wrongs: fc.oneof(
          { weight: 3, arbitrary: fc.constant([]) },
          { weight: 12, arbitrary: fc.array(wrongOf(operation), { minLength: 1, maxLength: 1 }) },
          { weight: 5, arbitrary: fc.array(wrongOf(operation), { minLength: 2, maxLength: 3 }) },
        ) as fc.Arbitrary<Wrong[]>,
        pick: nat,
      })
      .map(({ actor, isLive, ids, query, headers, good: goodBody, wrongs, pick }) => {
        const done = wrongs.map(({ kind }) => kind as string);
        const wrongWith = <K extends Wrong['kind']>(kind: K): (Wrong & { kind: K }) | undefined =>
          wrongs.find((wrong): wrong is Wrong & { kind: K } => wrong.kind === kind);
        const badId = wrongWith('id');
        const path = `/api/v1${operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
          badId ? BAD_IDS[badId.what % BAD_IDS.length]! : encoded(String(ids[name])),
        )}`;
        const badPath = wrongWith('path');
        const badQuery = wrongWith('query');
        const search = [
          ...Object.entries(query).map(([name, value]) => `${name}=${encoded(String(value))}`),
          ...(badQuery ? [queryWrong(parameters, badQuery, values)] : []),
        ].join('&');
        const target =
          (badPath ? PATH_FORMS[badPath.what % PATH_FORMS.length]!(path) : path) + (search ? `?${search}` : '');
        const badMethod = wrongWith('method');
        const sentMethod = badMethod ? ALL_METHODS[badMethod.what % ALL_METHODS.length]! : method;
        const hasBody =
          BODY_METHODS.includes(sentMethod) &&
          (body !== undefined || wrongWith('raw') !== undefined || pick % 10 === 0);
        const spoiling = wrongWith('body');
        if (spoiling && body && !body.isOpaque)
          done.push(spoilt(goodBody, body.schema, spoiling, values, description).done);
        const allHeaders = {
          ...(hasBody ? { 'content-type': 'application/json' } : {}),
          ...lowerCased(headers),
          ...headersWrong(wrongs),
        };
        return {
          operation,
          actor,
          isLive,
          done,
          request(live: object = {}): RawRequest {
            return {
              method: sentMethod,
              target,
              headers: allHeaders,
              ...(hasBody ? { body: bodyText({ ...goodBody, ...live }) } : {}),
            };
          },
        };

        function bodyText(complete: object): string | Uint8Array {
          const raw = wrongWith('raw');
          if (raw) return BAD_BODIES[raw.what % BAD_BODIES.length]!;
          return jsonText(
            spoiling && body ? spoilt(complete, body.schema, spoiling, values, description).body : complete,
          );
        }
      });
  }

  function knownIds(operation: Operation, name: string): readonly unknown[] {
    const ids = known[`${operation.id} ${name}`] ?? known[name];
    if (!ids?.length)
      throw new Error(
        `${operation.name}: say in apps/standalone/test/support/fuzz/known-values.ts what {${name}} may name`,
      );
    return ids;
  }
}

type Wrong =
  | ({ kind: 'body' } & Spoiling)
  | {
      kind: 'raw' | 'query' | 'header' | 'type' | 'credential' | 'id' | 'path' | 'method';
      where: number;
      what: number;
    };

function wrongOf(operation: Operation): fc.Arbitrary<Wrong> {
  const nat = fc.nat({ max: 9_999 });
  const simple = (kind: Exclude<Wrong['kind'], 'body'>, weight: number) => ({
    weight,
    arbitrary: fc.record({ kind: fc.constant(kind), where: nat, what: nat }) as fc.Arbitrary<Wrong>,
  });
  const canBeSpoilt = operation.body && !operation.body.isOpaque;
  return fc.oneof(
    ...(canBeSpoilt
      ? [
          {
            weight: 12,
            arbitrary: fc.record({
              kind: fc.constant('body' as const),
              way: fc.constantFrom<Way>('replace', 'replace', 'replace', ...WAYS),
              where: nat,
              what: nat,
            }) as fc.Arbitrary<Wrong>,
          },
        ]
      : []),
    ...(operation.method === 'GET' ? [] : [simple('raw', operation.body ? 4 : 1)]),
    simple('query', operation.parameters.some((parameter) => parameter.in === 'query') ? 12 : 1),
    simple('header', 3),
    simple('type', operation.body ? 2 : 1),
    simple('credential', 1),
    ...(operation.path.includes('{') ? [simple('id', 5)] : []),
    simple('path', 1),
    simple('method', 1),
  );
}

const inPlace = (operation: Operation, place: Parameter['in']): Parameter[] =>
  operation.parameters.filter((parameter) => parameter.in === place);
const seldom = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });
const lowerCased = (headers: object): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name.toLowerCase(), value as string]],
    ),
  );

function queryWrong(parameters: Parameter[], { where, what }: { where: number; what: number }, values: Values): string {
  const named = parameters.filter((parameter) => parameter.in === 'query');
  const parameter = named[where % Math.max(named.length, 1)];
  const bad = values
    .bad(parameter?.schema ?? {})
    .filter((value) => typeof value === 'string' || typeof value === 'number');
  const value = encoded(String(bad[what % bad.length])).slice(0, 6_000);
  return QUERY_FORMS[where % 3 === 0 ? what % QUERY_FORMS.length : 0]!(parameter?.name ?? 'page', value);
}

function headersWrong(wrongs: Wrong[]): Record<string, string | string[]> {
  return Object.assign(
    {},
    ...wrongs.map(({ kind, where, what }) => {
      if (kind === 'type')
        return where % 4 === 0
          ? { 'content-encoding': ENCODINGS[what % ENCODINGS.length]! }
          : { 'content-type': TYPES[what % TYPES.length]! };
      if (kind === 'credential') return { authorization: BAD_CREDENTIALS[what % BAD_CREDENTIALS.length]! };
      if (kind !== 'header') return {};
      const name = HEADERS[where % HEADERS.length]!;
      const value = HEADER_TEXTS[what % HEADER_TEXTS.length]!;
      return { [name]: what % 5 === 0 && name !== 'content-type' ? [value, value] : value };
    }),
  ) as Record<string, string | string[]>;
}
