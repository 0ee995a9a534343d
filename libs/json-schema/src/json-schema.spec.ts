import { BodyCheck } from './body-check.js';
import { problemOfSchema } from './problem-of-schema.js';
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
    ['a pattern within a pattern', { pattern: '^(a+)+$' }, 'pattern'],
    ['a pattern in a name', { patternProperties: { '^(a*)*$': {} } }, 'pattern'],
    ['a pattern that is none', { pattern: '(' }, 'pattern'],
    ['a long pattern', { pattern: 'a'.repeat(201) }, 'pattern'],
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
    expect(performance.now() - began).toBeLessThan(2_000);
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
      'a pattern that the check of patterns does not know',
      { properties: { a: { pattern: '^(a|a)*$' } } },
      { a: `${'a'.repeat(60)}b` },
    ],
    ['repetitions in a row', { properties: { a: { pattern: 'a*a*a*a*a*a*b' } } }, { a: 'a'.repeat(100_000) }],
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
    expect(() => new BodyCheck(JSON.stringify(schema)).misfitOf(body)).toThrow(TimeExceeded);
    expect(performance.now() - began).toBeLessThan(2_000);
  });
});

describe('withinMs', () => {
  it('gives what the work gives, throws what it throws, and works again after a time-out', () => {
    expect(withinMs(50, () => 7)).toBe(7);
    expect(() => withinMs(50, () => JSON.parse('{') as unknown)).toThrow(SyntaxError);
    expect(() =>
      withinMs(20, () => {
        for (;;);
      }),
    ).toThrow(TimeExceeded);
    expect(withinMs(50, () => 'again')).toBe('again');
  });
});

function nested(levels: number): object {
  return levels === 0 ? {} : { n: nested(levels - 1) };
}
