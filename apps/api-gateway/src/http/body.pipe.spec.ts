import 'reflect-metadata';
import fc from 'fast-check';
import { Refusal } from '@market/messaging';
import { validBody, validBodyOrNone } from './body.pipe.js';
import { HttpUrl, Instant, ListOf, ObjectOf, ObjectsOf, OneOf, Text, TextList, UsdAmount, Uuid, WholeNumber } from './fields.js';

class Inner {
  @Text({ min: 1, max: 3 })
  label: string;
}

class Outer {
  @Text({ min: 2, max: 4 })
  name: string;

  @OneOf(['a', 'b'], { optional: true })
  choice?: string;

  @UsdAmount({ optional: true })
  price?: number;

  @WholeNumber({ min: 1, max: 9, nullable: true, optional: true })
  count?: number | null;

  @TextList({ maxItems: 2, maxLength: 3, optional: true })
  tags?: string[];

  @ListOf(['x', 'y'], { optional: true })
  scopes?: string[];

  @ObjectsOf(Inner, { maxItems: 2, optional: true })
  inners?: Inner[];

  @ObjectOf(Inner, { nullable: true, optional: true })
  inner?: Inner | null;

  @Uuid({ optional: true })
  id?: string;

  @HttpUrl({ optional: true })
  url?: string;

  @Instant({ optional: true })
  at?: string;
}

const read = (body: unknown): unknown => validBody.transform(body, { type: 'body', metatype: Outer });

function problemsOf(body: unknown): string[] {
  try {
    read(body);
    return [];
  } catch (error) {
    return ((error as Refusal).details.fields as { field: string; message: string }[]).map(({ field, message }) => `${field} ${message}`);
  }
}

describe('a validated body', () => {
  it('comes out as it went in when it fits', () => {
    const body = { name: '👩👩👩', choice: 'a', price: 0.000001, count: null, tags: ['a', 'bcd'], scopes: ['y', 'x'], inners: [{ label: 'l' }], inner: null, id: '019a9f3e-7c2a-7b41-9a53-2f6d1c0e8b11', url: 'https://a.example', at: '2026-11-21T00:00Z' };
    expect(JSON.parse(JSON.stringify(read(body)))).toEqual(body);
  });

  it('names every problem at once, each with its path', () => {
    expect(problemsOf({ name: 'x', price: -1, inners: [{ label: 1 }, { label: 'ok', extra: 1 }], nope: true })).toEqual([
      'nope is not a field of this operation',
      'name must be text of 2 to 4 characters',
      'price must be a number of US dollars from 0 to 1000000 with at most 6 decimals',
      'inners.0.label must be text of 1 to 3 characters',
      'inners.1.extra is not a field of this operation',
    ]);
  });

  it.each([undefined, null, 1, 'text', true, [], [{ name: 'ab' }]])('must be an object, which %p is not', (body) => {
    expect(problemsOf(body)).toEqual(['body must be a JSON object']);
  });

  it.each([
    ['name', [null, 1, 'x', 'xxxxx', ['ab'], {}]],
    ['choice', [null, 'c', ['a'], 0]],
    ['price', [null, '1', -0.01, 0.0000001, 1_000_001, Infinity, NaN]],
    ['count', [0, 10, 1.5, '1']],
    ['tags', [null, 'a', {}, [1], [''], ['abcd'], ['a', 'b', 'c'], [['a']]]],
    ['scopes', [[], ['x', 'x'], ['z'], 'x', null]],
    ['inners', [null, {}, 'x', [1], [null], [[{ label: 'a' }]], [{}, {}, {}]]],
    ['inner', [1, 'x', [], [{ label: 'a' }], {}]],
    ['id', [null, 'x', 1]],
    ['url', [null, 'javascript:alert(1)', 1]],
    ['at', [null, 'tomorrow', 1, '2026-13-13']],
  ])('refuses wrong values of %s', (field, values) => {
    for (const value of values) expect(problemsOf({ name: 'ab', [field]: value }).some((problem) => problem.startsWith(field))).toBe(true);
  });

  it('may be absent where the whole of it is optional, and nothing else may stand for absence', () => {
    class Optional {
      @Text({ max: 3, optional: true })
      note?: string;
    }
    expect(validBodyOrNone.transform(undefined, { type: 'body', metatype: Optional })).toEqual({});
    expect(() => validBodyOrNone.transform(null, { type: 'body', metatype: Optional })).toThrow(Refusal);
  });

  it('is accepted or refused, whatever it is, and nothing unknown ever gets through', () => {
    const known = Object.getOwnPropertyNames({ name: 0, choice: 0, price: 0, count: 0, tags: 0, scopes: 0, inners: 0, inner: 0, id: 0, url: 0, at: 0 });
    fc.assert(
      fc.property(fc.dictionary(fc.oneof(fc.constantFrom(...known), fc.string().filter((key) => !(key in Object.prototype))), fc.oneof(fc.jsonValue(), fc.constant('ab'))), (body) => {
        try {
          expect(Object.keys(read({ name: 'ab', ...body }) as object).every((key) => known.includes(key))).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(Refusal);
        }
      }),
    );
  });
});
