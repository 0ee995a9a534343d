import { BodyCheck } from './body-check.js';
import run from './check-worker.js';
import { isCheap } from './is-cheap.js';
import { problemOfSchema } from './problem-of-schema.js';
import { runCheck } from './schema-checks.js';
import { TimeExceeded, withinMs } from './within-ms.js';

const objectOf = (properties: object, more: object = {}): object => ({ type: 'object', properties, ...more });
const deep = (levels: number): object => (levels === 0 ? { type: 'string' } : objectOf({ inner: deep(levels - 1) }));
/** Each part applies the next one twice, so the last one is applied 2^40 times. */
const doubling = {
  $ref: '#/$defs/d0',
  $defs: Object.fromEntries(
    Array.from({ length: 41 }, (_, n) => [
      `d${n}`,
      n === 40 ? { type: 'object' } : { allOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] },
    ]),
  ),
};

describe('a schema that is accepted', () => {
  it.each<[string, object]>([
    ['an empty one', {}],
    ['one that names the dialect', { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' }],
    ['one that refers to its parts', { $ref: '#/$defs/a', $defs: { a: {} } }],
    ['one that refers to itself deeper down', objectOf({ next: { $ref: '#' } })],
    ['keywords that nobody knows', { 'x-internal': { a: 1 }, type: 'object' }],
    ['patterns', objectOf({ id: { pattern: '^[a-z]{2,8}-[0-9]+$' } }, { patternProperties: { '^x-': {} } })],
    ['a repetition within a repetition', { pattern: '^(a+)+$', patternProperties: { '^(a*)*$': {} } }],
  ])('is %s', (_what, schema) => {
    expect(problemOfSchema(schema)).toBeUndefined();
  });
});

describe('a schema is refused', () => {
  it.each<[string, object, string]>([
    ['a type that there is not', objectOf({ a: { type: 'strin' } }), '/properties/a/type'],
    ['a keyword of another form', { required: 'a' }, '/required'],
    ['another dialect', { $schema: 'http://json-schema.org/draft-07/schema#' }, '2020-12'],
    ['a remote reference', objectOf({ a: { $ref: 'https://evil.example/schema.json' } }), 'own parts alone'],
    ['a file', { $ref: 'file:///etc/passwd' }, 'own parts alone'],
    ['a reference to nothing', { $ref: '#/$defs/none' }, 'there is no #/$defs/none'],
    ['a name of its own', { $id: 'https://seller.example/a.json' }, '$id'],
    ['a dynamic reference', { $dynamicRef: '#a' }, '$dynamicRef'],
    ['nesting', deep(20), 'nested'],
    [
      'a crowd of keywords',
      objectOf(Object.fromEntries(Array.from({ length: 600 }, (_, n) => [`p${n}`, { type: 'string' }]))),
      'keywords',
    ],
    [
      'a pattern that needs backtracking',
      { pattern: '(a)\\1' },
      'must not use the pattern "(a)\\\\1": a backreference',
    ],
    ['a pattern that looks ahead', { allOf: [{ not: { pattern: '^(?!a)' } }] }, 'lookahead (?! is not supported'],
    ['a pattern of names', { patternProperties: { '(?<=a)b': {} } }, 'lookbehind (?<= is not supported'],
    ['a pattern within names', { propertyNames: { pattern: '(?=a)' } }, 'lookahead (?= is not supported'],
    ['a pattern that is none', { pattern: '(' }, 'pattern'],
    ['a long pattern', { pattern: 'a'.repeat(201) }, 'pattern'],
    ['a large pattern', { pattern: `(${'\\p{L}'.repeat(38)}){1000}` }, 'too l'],
    ['a circle', { $ref: '#' }, 'without an end'],
    [
      'a circle of two',
      { $ref: '#/$defs/a', $defs: { a: { anyOf: [{ $ref: '#/$defs/b' }] }, b: { $ref: '#/$defs/a' } } },
      'without an end',
    ],
    ['doubling', doubling, 'too long'],
  ])('for %s', (_what, schema, problem) => {
    const began = performance.now();
    expect(problemOfSchema(schema)).toContain(problem);
    expect(performance.now() - began).toBeLessThan(10_000);
  });
});

describe('a body', () => {
  const check = new BodyCheck(
    JSON.stringify(
      objectOf(
        {
          city: { type: 'string', maxLength: 10 },
          at: { type: 'array', items: objectOf({ lat: { type: 'number' } }) },
        },
        { required: ['city'], additionalProperties: false },
      ),
    ),
  );

  it.each<[body: object, path: string | undefined, problem?: string]>([
    [{ city: 'Bern' }, undefined],
    [{ city: 'Bern', at: [{ lat: 1 }] }, undefined],
    [{}, '', 'required property "city"'],
    [{ city: 1 }, '/city', 'Expected "string"'],
    [{ city: 'Bern', at: [{ lat: 1 }, { lat: 'x' }] }, '/at/1/lat', 'Expected "number"'],
    [{ city: 'Bern', 'a/b': 1 }, '/a~1b', 'not allowed'],
    [JSON.parse('{"city":"Bern","__proto__":1}') as object, '/__proto__', 'not allowed'],
    [{ city: 'x'.repeat(100) }, '/city', ''],
  ])('%j does not fit at %p', (body, path, problem = '') => {
    const misfit = check.misfitOf(body);
    expect(misfit?.path).toBe(path);
    expect(misfit?.problem ?? '').toContain(problem);
    expect(misfit?.problem.length ?? 0).toBeLessThanOrEqual(300);
  });

  it.each<[string, object, object]>([
    [
      'a large pattern on a long text',
      { properties: { a: { pattern: '(a|b)*a(a|b){1000}$' } } },
      { a: 'ab'.repeat(500_000) },
    ],
    [
      'unique items',
      { properties: { a: { uniqueItems: true } } },
      { a: Array.from({ length: 100_000 }, (_, n) => ({ n })) },
    ],
    [
      'branches at each level',
      {
        anyOf: [
          { properties: { n: { $ref: '#' } }, required: ['x'] },
          { properties: { n: { $ref: '#' } }, required: ['y'] },
        ],
      },
      nested(60),
    ],
  ])('is given up after its time: %s', (_what, schema, body) => {
    expect(problemOfSchema(schema)).toBeUndefined();
    const began = performance.now();
    expect(run({ kind: 'body', schema: JSON.stringify(schema), body: JSON.stringify(body) })).toMatchObject({
      isExceeded: true,
    });
    expect(performance.now() - began).toBeLessThan(10_000);
  });
});

describe('what is wrong with a body', () => {
  const city = { type: 'string', maxLength: 3 };
  const body = { a: 'x', city: 'Bern', n: 'x' };
  const misfitOf = (schema: object, value: object = body) =>
    run({ kind: 'body', schema: JSON.stringify(schema), body: JSON.stringify(value) });
  const pathsOf = (schema: object, value?: object) => misfitOf(schema, value).misfit?.problems.map(({ path }) => path);

  it.each<[string, object]>([
    ['is cheap', { a: { type: 'number' } }],
    ['has a format', { a: { format: 'date' } }],
    ['has a pattern', { a: { pattern: '^[a-z]{2}$' } }],
    ['has a reference', { a: { $ref: '#/properties/n' } }],
    ['has alternatives', { a: { anyOf: [{ type: 'number' }, { const: 'y' }] } }],
  ])('is all named where the schema %s', (_what, more) => {
    const schema = objectOf({ n: { type: 'number' }, city, ...more });
    expect(new Set(pathsOf(schema))).toEqual(new Set(['/a', '/city', '/n']));
  });

  it('is named up to a number, and once', () => {
    const many = { a: Array.from({ length: 100 }, () => 'x') };
    expect(pathsOf(objectOf({ a: { items: { type: 'number', format: 'date' } } }), many)).toHaveLength(20);
    const twice = objectOf({ n: { allOf: [{ type: 'number' }, { type: 'number' }] } });
    const problems = misfitOf(twice).misfit!.problems.map(({ path, problem }) => `${path} ${problem}`);
    expect(problems).toContain('/n Instance type "string" is invalid. Expected "number".');
    expect(new Set(problems).size).toBe(problems.length);
  });

  it('is named as far as it was found in time', () => {
    const branches = ['x', 'y'].map((name) => ({ properties: { n: { $ref: '#/$defs/slow' } }, required: [name] }));
    const schema = objectOf(
      { a: { type: 'number' }, n: { $ref: '#/$defs/slow' } },
      { $defs: { slow: { anyOf: branches } } },
    );
    expect(problemOfSchema(schema)).toBeUndefined();
    expect(misfitOf(schema, { a: 'x', n: nested(60) })).toMatchObject({
      misfit: { path: '/a', problems: [{ path: '/a' }] },
    });
  });
});

describe('a pattern on which an engine with backtracking never ends', () => {
  const hostile = `${'a'.repeat(60)}!`;
  const task = (schema: object, body: object) =>
    ({ kind: 'body', schema: JSON.stringify(schema), body: JSON.stringify(body) }) as const;

  it.each<[string, object, object, path: string, problem: string]>([
    ['of a value', objectOf({ a: { pattern: '^(a|a)*$' } }), { a: hostile }, '/a', 'String does not match pattern.'],
    [
      'of many',
      objectOf({ a: { allOf: Array.from({ length: 20 }, (_, n) => ({ pattern: `^(a|a)*.b{0,${n}}$` })) } }),
      { a: `${hostile}!` },
      '/a',
      'Instance does not match every subschema.',
    ],
    [
      'of a name',
      { patternProperties: { '^(a|a)*!$': { type: 'number' }, '^(a|a)*$': false } },
      { [hostile]: 'x', b: 'x' },
      `/${hostile}`,
      'Expected "number"',
    ],
    [
      'of all names',
      { propertyNames: { pattern: '^(a|a)*$' } },
      { [hostile]: 1 },
      `/${hostile}`,
      'String does not match pattern.',
    ],
  ])('is applied in time: %s', (_what, schema, body, path, problem) => {
    expect(problemOfSchema(schema)).toBeUndefined();
    const { misfit } = run(task(schema, body));
    expect([misfit?.path, misfit?.problem]).toEqual([path, expect.stringContaining(problem)]);
  });

  it('is applied in time in a thread', async () => {
    const schema = objectOf({ a: { pattern: '^(a|a)*$' }, b: { format: 'regex' } });
    const account = { purpose: 'calls', sellerId: 'seller', callerId: undefined } as const;
    expect(await runCheck(task(schema, { a: hostile }), account)).toMatchObject({ misfit: { path: '/a' } });
    // A format of bodies is not a pattern of the schema.
    expect((await runCheck(task(schema, { a: 'aa', b: '(?=a)' }), account)).misfit).toBeUndefined();
  });
});

describe('a schema whose checks are linear', () => {
  it.each<[boolean, object]>([
    [true, objectOf({ a: { type: 'string', maxLength: 3 }, b: { type: 'array', items: { enum: [1, 2] } } })],
    [true, objectOf({ pattern: { type: 'string' } }, { additionalProperties: false })],
    [false, objectOf({ a: { pattern: 'a' } })],
    [false, objectOf({}, { patternProperties: { a: {} } })],
    [false, objectOf({}, { propertyNames: {} })],
    [false, objectOf({ a: { uniqueItems: true } })],
    [false, objectOf({ a: { format: 'email' } })],
    [false, { $ref: '#/$defs/a', $defs: { a: {} } }],
    [false, objectOf({ a: { allOf: [{}] } })],
    [false, { enum: Array.from({ length: 51 }, (_, n) => n) }],
    [false, { contains: {} }],
  ])('is told: %s, %j', (expected, schema) => expect(isCheap(schema)).toBe(expected));
});

describe('withinMs', () => {
  /** So long that quick work ends in it on any machine. */
  const LONG_MS = 60_000;

  it('gives what the work gives, throws what it throws, and works again after a time-out', () => {
    expect(withinMs(LONG_MS, () => 7)).toBe(7);
    expect(() => withinMs(LONG_MS, () => JSON.parse('{') as unknown)).toThrow(SyntaxError);
    expect(() =>
      withinMs(20, () => {
        for (;;);
      }),
    ).toThrow(TimeExceeded);
    expect(withinMs(LONG_MS, () => 'again')).toBe('again');
  });
});

function nested(levels: number): object {
  return levels === 0 ? {} : { n: nested(levels - 1) };
}
