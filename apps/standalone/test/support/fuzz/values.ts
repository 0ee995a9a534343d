import fc from 'fast-check';
import { Raw } from './json-text.js';
import type { ApiDescription, Schema } from './operations.js';

/** Values that exist in this run, by the name of the field, parameter or header that takes them. */
export type Known = Record<string, readonly unknown[]>;

const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);

/** Texts that have broken parsers, databases, shells, pages and filters. */
export const STRANGE_TEXTS: readonly string[] = [
  ...[
    '',
    ' ',
    '\t',
    '\n',
    '\r\n',
    '\u0000',
    'a\u0000b',
    '\ud800',
    'a\udfffb',
    '\ufeff',
    '\u202egnp.exe',
    '\u200b',
    '\u0301',
    'e\u0301',
    '\u00e9',
    '\u{1f980}',
    '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}',
    '\uffff',
    '\u{10ffff}',
    '\u0085',
    '\u2028',
  ],
  ...[
    "'",
    '"',
    '`',
    "' OR '1'='1",
    "'; DROP TABLE accounts; --",
    "1'); SELECT pg_sleep(9); --",
    '$$',
    '\\',
    '\\\\',
    "\\'",
    '%',
    '_',
    '%%',
    '$1',
    '${7*7}',
    '{{7*7}}',
    '<%= 7*7 %>',
    '#{7*7}',
    'a & b | !c',
    '():*',
    "'foo':*A",
    '<->',
    '"unbalanced',
    'or',
    '- -',
    '-'.repeat(200),
  ],
  ...[
    '<script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
    'javascript:alert(1)',
    'data:text/html,x',
    '=1+1',
    '@SUM(1)',
    '+1',
    '../../etc/passwd',
    '..\\..\\windows',
    '/dev/null',
    'file:///etc/passwd',
    '|id',
    '$(id)',
    '`id`',
    '; id',
  ],
  ...[
    '0',
    '-0',
    '1',
    '-1',
    '00',
    '1.0',
    '1e3',
    '1e400',
    '0x10',
    '1_000',
    ' 1',
    '1 ',
    '\u0661',
    'NaN',
    'Infinity',
    'null',
    'undefined',
    'true',
    '[]',
    '{}',
    '9007199254740993',
    '999999999999999999999',
  ],
  ...[
    '01995bad-5c00-7000-8000-00000000dead',
    '01995BAD-5C00-7000-8000-00000000DEAD',
    '{01995bad-5c00-7000-8000-00000000dead}',
    '01995bad5c0070008000 00000000dead',
    '00000000-0000-0000-0000-000000000000',
    'ffffffff-ffff-ffff-ffff-ffffffffffff',
  ],
  ...['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'length'],
  ...[
    'http://user:pass@host/',
    'http://[::1]/',
    'http://127.0.0.1:5432/',
    'http://169.254.169.254/latest',
    'http://0x7f.1/',
    'http://2130706433/',
    'https://example.com:99999/',
    'http://',
    '//host',
    'http://\u2460.com/',
    'gopher://x',
    'HTTP://EXAMPLE.COM',
    'https://exa mple.com/',
    `https://example.com/${'x'.repeat(2_030)}`,
  ],
  ...[
    '2026-01-01',
    '2026-02-30',
    '2026-01-01T00:00:00',
    '2026-01-01T25:00:00Z',
    '0000-01-01T00:00:00Z',
    '+275760-09-13T00:00:00Z',
    '99999-01-01',
    '2026-01-01T00:00:00+99:99',
    '1e10',
  ],
  ...[
    '0x',
    `0x${'0'.repeat(40)}`,
    `0x${'f'.repeat(64)}`,
    `0X${'F'.repeat(64)}`,
    '11111111111111111111111111111111',
    'vitalik.eth',
    `0x${'ab'.repeat(65)}`,
    'A'.repeat(88),
  ],
  ...[
    'x'.repeat(256),
    'x'.repeat(5_001),
    'x'.repeat(100_000),
    '\u{1f980}'.repeat(101),
    'e\u0301'.repeat(100),
    'a'.repeat(30) + '!',
    ' '.repeat(50_000),
    `${'a,'.repeat(5_000)}`,
  ],
];

const NUMBERS: readonly unknown[] = [
  ...[
    '-0',
    '-1',
    '0',
    '0.5',
    '1.0',
    '1e400',
    '-1e400',
    '1E2',
    '1e-18',
    '9007199254740993',
    '123456789012345678901234567890',
    '0.1234567',
    '1e21',
    '2147483648',
    '-9223372036854775809',
  ].map((text) => new Raw(text)),
  ...['NaN', 'Infinity', '01', '+1', '.5', '1.', '0x10', '1_0', '--1'].map((text) => new Raw(text)),
  '1',
  '0x1',
];

const OTHERS: readonly unknown[] = [
  null,
  true,
  false,
  0,
  '',
  [],
  {},
  [null],
  [[]],
  [{}],
  { a: 1 },
  { length: 1 },
  nested(31),
  nested(33),
  nested(500),
  Array(2_001).fill(0),
  new Raw('{"__proto__":{"polluted":true}}'),
  new Raw('{"constructor":{"prototype":{"polluted":true}}}'),
  new Raw('"\\ud800"'),
  new Raw('"\\u0000"'),
  new Raw("'single'"),
  new Raw('undefined'),
  new Raw(''),
];

/** Generates values for a schema, both valid and invalid. */
export class Values {
  constructor(
    private readonly description: ApiDescription,
    private readonly known: Known,
  ) {}

  /** Returns values that satisfy the schema. */
  good(unresolved: Schema, name = ''): fc.Arbitrary<unknown> {
    const schema = this.description.resolve(unresolved);
    const known = this.known[name];
    if (known?.length)
      return fc.oneof(
        { weight: 5, arbitrary: fc.constantFrom(...known) },
        { weight: 1, arbitrary: this.typed(schema, name) },
      );
    return this.typed(schema, name);
  }

  /** Returns values that violate the schema or are at its limits. */
  bad(unresolved: Schema): readonly unknown[] {
    const schema = this.description.resolve(unresolved);
    const { minLength, maxLength, minimum, maximum, minItems, maxItems, items } = schema;
    const around = (bound: number | undefined): number[] => (bound === undefined ? [] : [bound - 1, bound, bound + 1]);
    const lengths = [...around(minLength), ...around(maxLength)].filter((length) => length >= 0 && length < 200_000);
    const counts = [...around(minItems), ...around(maxItems)].filter((count) => count >= 0);
    const [item] = items ? fc.sample(this.good(items), { numRuns: 1, seed: 1 }) : [''];
    return [
      ...OTHERS,
      ...STRANGE_TEXTS,
      ...lengths.flatMap((length) => ['x', '\u{1f980}', '\u0301'].map((unit) => unit.repeat(length))),
      ...(schema.type === 'number' || schema.type === 'integer'
        ? [...NUMBERS, ...[...around(minimum), ...around(maximum)]]
        : NUMBERS.slice(0, 4)),
      ...counts.map((count) => Array<unknown>(count).fill(item)),
      ...(items ? OTHERS.map((other) => [other]) : []),
      ...(schema.enum ?? []).flatMap((value) =>
        typeof value === 'string' ? [value.toUpperCase(), `${value} `, [value]] : [],
      ),
    ];
  }

  private typed(schema: Schema, name: string): fc.Arbitrary<unknown> {
    const [type] = [schema.type ?? (schema.properties ? 'object' : 'string')].flat();
    if ('const' in schema) return fc.constant(schema.const);
    if (schema.enum) return fc.constantFrom(...schema.enum);
    switch (type) {
      case 'integer':
        return fc.integer({
          min: schema.minimum ?? 0,
          max: Math.min(schema.maximum ?? 1_000, (schema.minimum ?? 0) + 1_000),
        });
      case 'number':
        return fc
          .integer({ min: Math.ceil((schema.minimum ?? 0) * 100), max: Math.min(schema.maximum ?? 100, 100) * 100 })
          .map((cents) => cents / 100);
      case 'boolean':
        return fc.boolean();
      case 'array':
        return schema.items?.enum
          ? fc.subarray(schema.items.enum, { minLength: schema.minItems ?? 0 })
          : fc.array(this.good(schema.items ?? {}, name), {
              minLength: schema.minItems ?? 0,
              maxLength: Math.min(schema.maxItems ?? 3, 3),
            });
      case 'object':
        return this.object(schema);
      default:
        return text(schema);
    }
  }

  private object({ properties = {}, required = [] }: Schema): fc.Arbitrary<object> {
    const members = Object.fromEntries(
      Object.entries(properties).map(([name, schema]) => [name, this.good(schema, name)]),
    );
    return fc.record(members, { requiredKeys: required });
  }
}

function text({ format, minLength = 0, maxLength = 60 }: Schema): fc.Arbitrary<string> {
  if (format === 'uuid') return fc.uuid();
  if (format === 'uri') return fc.constantFrom('https://seller.example/', 'https://seller.example/a?b=c#d');
  if (format === 'date-time')
    return fc.constantFrom('2026-01-01T00:00:00Z', '2099-12-31T23:59:59.999+02:00', '2020-01-01');
  const max = Math.min(maxLength, Math.max(minLength, 60));
  // The length is counted in code points, as the marketplace does.
  return fc
    .array(fc.constantFrom(...'abc XYZ 019 -_.,!éß漢🦀'), { minLength, maxLength: max })
    .map((units) => units.join(''));
}
