import { Raw, Twice } from './json-text.js';
import type { ApiDescription, Schema } from './operations.js';
import type { Values } from './values.js';

const utf16 = (text: string): Buffer => Buffer.from(text, 'utf16le');
const repeated = (depth: number, open: string, close: string): string => open.repeat(depth) + close.repeat(depth);

/** Bodies that are invalid as a whole. */
export const BAD_BODIES: readonly (string | Buffer)[] = [
  ...[
    '',
    ' ',
    '{',
    '[',
    '"',
    '}',
    'null',
    'true',
    '1',
    '-0',
    '"text"',
    '[]',
    '[{}]',
    '{}{}',
    '{},',
    '{"a":1,}',
    '{a:1}',
    "{'a':1}",
    '{"a":1}//',
    '{"a":undefined}',
    '\ufeff{}',
    '{"a":1e999}',
    '{"a":-0}',
    '{"a":NaN}',
    'hello',
    '<xml/>',
    'a=b&c=d',
    '--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n1\r\n--x--',
  ],
  ...[
    '{"a":1,"a":2}',
    '{"__proto__":{"polluted":true}}',
    '{"constructor":{"prototype":{"polluted":true}}}',
    '{"\\u005f_proto__":1}',
    '{"\\u0000":1}',
    '{"a":"\\ud800"}',
    '{"\\ud800":1}',
    '{"":1}',
  ],
  repeated(5_000, '[', ']'),
  repeated(100_000, '[', ']'),
  `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`,
  `{"a":"${'x'.repeat(300_000)}"}`,
  `{${Array.from({ length: 3_000 }, (_, n) => `"k${n}":1`).join(',')}}`,
  `[${'1,'.repeat(5_000)}1]`,
  `{"a":${'9'.repeat(5_000)}}`,
  Buffer.from([0xff, 0xfe, 0x7b, 0x7d]),
  Buffer.from([0x7b, 0x22, 0xc0, 0xaf, 0x22, 0x3a, 0x31, 0x7d]),
  Buffer.from([0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x3a, 0x31, 0x7d]),
  Buffer.from([0x1f, 0x8b, 0x08, 0x00]),
  utf16('{"a":1}'),
];

const EXTRA_FIELDS = [
  'id',
  'status',
  'is_verified',
  'role',
  'account_id',
  'provider_id',
  'created_at',
  'fee_rate',
  'price_micros',
  'unknown',
  '',
  '$where',
  'toJSON',
  'then',
  'length',
];

export const WAYS = ['replace', 'remove', 'extra', 'twice', 'wrap', 'pollute'] as const;
export type Way = (typeof WAYS)[number];

interface Place {
  parent: Record<string, unknown>;
  key: string;
  schema: Schema;
  path: string;
}

/**
 * Adds one error to a valid body.
 * @param where chooses the member, and `what` the value, each from the given number of choices.
 * @returns the body, and a description of the error.
 */
export function spoilt(
  good: object,
  schema: Schema,
  { way, where, what }: { way: Way; where: number; what: number },
  values: Values,
  description: ApiDescription,
): { body: unknown; done: string } {
  const body = structuredClone(good) as Record<string, unknown>;
  const places = placesIn(body, schema, description);
  const place = places[where % Math.max(places.length, 1)];
  if (!place || way === 'extra' || way === 'pollute') {
    const parent =
      place && where % 2 === 0 && isObject(place.parent[place.key])
        ? (place.parent[place.key] as Record<string, unknown>)
        : body;
    const name =
      way === 'pollute'
        ? ['__proto__', 'constructor', 'prototype'][what % 3]!
        : EXTRA_FIELDS[what % EXTRA_FIELDS.length]!;
    Object.defineProperty(parent, name, {
      value: what % 2 ? new Raw('{"polluted":true}') : 1,
      enumerable: true,
      configurable: true,
    });
    return { body, done: `adds ${name}` };
  }
  const { parent, key, path } = place;
  if (way === 'remove') {
    delete parent[key];
    return { body, done: `lacks ${path}` };
  }
  if (way === 'twice') {
    parent[key] = new Twice(parent[key]);
    return { body, done: `has ${path} twice` };
  }
  if (way === 'wrap') {
    parent[key] = what % 2 ? [parent[key]] : { value: parent[key] };
    return { body, done: `wraps ${path}` };
  }
  const bad = values.bad(place.schema);
  parent[key] = bad[what % bad.length];
  return { body, done: `has another ${path}` };
}

function placesIn(value: Record<string, unknown>, schema: Schema, description: ApiDescription, path = ''): Place[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, unresolved]) => {
    const member = description.resolve(unresolved);
    const own: Place = { parent: value, key, schema: unresolved, path: path + key };
    const inner = value[key];
    if (isObject(inner))
      return [own, ...placesIn(inner as Record<string, unknown>, member, description, `${path}${key}.`)];
    if (Array.isArray(inner) && isObject(inner[0]) && member.items)
      return [
        own,
        ...placesIn(
          inner[0] as Record<string, unknown>,
          description.resolve(member.items),
          description,
          `${path}${key}.0.`,
        ),
      ];
    return [own];
  });
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);
