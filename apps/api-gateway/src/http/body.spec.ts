import { httpUrl, id, instant, someOf, text, textList, usdAmount, wholeNumber } from '@market/contracts';
import fc from 'fast-check';
import { Refusal } from '@market/messaging';
import { z } from 'zod';
import { bodyOf, bodyOrNoneOf, changesOf } from './body.js';

const inner = z.strictObject({ label: text(1, 3) });
const outer = z.object({
  name: text(2, 4),
  choice: z.enum(['a', 'b']).optional(),
  price: usdAmount.optional(),
  count: wholeNumber(1, 9).nullable().optional(),
  tags: textList(2, 3).optional(),
  scopes: someOf(z.enum(['x', 'y'])).optional(),
  inners: z.array(inner).max(2).optional(),
  inner: inner.nullable().optional(),
  id: id.optional(),
  url: httpUrl.optional(),
  at: instant.optional(),
  flag: z.boolean().optional(),
});

const read = (body: unknown): unknown => changesOf(outer).transform(body, { type: 'body' });

function problemsOf(body: unknown): string[] {
  try {
    read(body);
    return [];
  } catch (error) {
    return ((error as Refusal).details.fields as { field: string; message: string }[]).map(
      ({ field, message }) => `${field} ${message}`,
    );
  }
}

describe('a validated body', () => {
  it('comes out as it went in when it fits', () => {
    const body = {
      name: '👩👩👩',
      choice: 'a',
      price: 0.000001,
      count: null,
      tags: ['a', 'bcd'],
      scopes: ['y', 'x'],
      inners: [{ label: 'l' }],
      inner: null,
      id: '019a9f3e-7c2a-7b41-9a53-2f6d1c0e8b11',
      url: 'https://a.example',
      at: '2026-11-21T00:00Z',
    };
    expect(JSON.parse(JSON.stringify(read(body)))).toEqual(body);
  });

  it('names every problem at once, each with its path', () => {
    expect(problemsOf({ name: 'x', price: -1, inners: [{ label: 1 }, { label: 'ok', extra: 1 }], nope: true })).toEqual(
      [
        'name must be text of 2 to 4 characters',
        'price must be a number of US dollars from 0 to 1000000 with at most 6 decimals',
        'inners.0.label must be text of 1 to 3 characters',
        'inners.1.extra is not a field of this operation',
        'nope is not a field of this operation',
      ],
    );
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
    for (const value of values)
      expect(problemsOf({ name: 'ab', [field]: value }).some((problem) => problem.startsWith(field))).toBe(true);
  });

  it.each([
    [{ choice: 1 }, 'choice must be one of a, b'],
    [{ flag: 0 }, 'flag must be true or false'],
    [{ inner: 'x' }, 'inner must be an object'],
    [{ inners: {} }, 'inners must be a list'],
    [{ inners: [{}, {}, {}] }, 'inners must be at most 2 items'],
    [{ scopes: ['x', 'x'] }, 'scopes must be a list of different values out of x, y'],
  ])('says what a value like %j must be', (fields, problem) => {
    expect(problemsOf({ name: 'ab', ...fields })).toContain(problem);
  });

  it('may be absent where the whole of it is optional, and nothing else may stand for absence', () => {
    const optional = bodyOrNoneOf(z.object({ note: text(0, 3).optional() }));
    expect(optional.transform(undefined, { type: 'body' })).toEqual({});
    expect(() => optional.transform(null, { type: 'body' })).toThrow(Refusal);
  });

  it('of something new takes null for a field left out, however deep, and of nothing else', () => {
    const body = bodyOf(
      z.object({
        note: text(0, 3).optional(),
        size: wholeNumber(1, 9).default(5),
        parts: z.array(z.strictObject({ label: text(0, 3), note: text(0, 3).optional() })).default([]),
        free: z.unknown().optional(),
      }),
    );
    const read = (value: unknown): unknown => body.transform(value, { type: 'body' });
    expect(read({ note: null, size: null, parts: [{ label: 'a', note: null }], free: { kept: null } })).toEqual({
      size: 5,
      parts: [{ label: 'a' }],
      free: { kept: null },
    });
    for (const wrong of [{ parts: [{ label: null }] }, { parts: [null] }, { unknown: null }, null])
      expect(() => read(wrong)).toThrow(Refusal);
  });

  it('is accepted or refused, whatever it is, and nothing unknown ever gets through', () => {
    const known = Object.getOwnPropertyNames({
      name: 0,
      choice: 0,
      price: 0,
      count: 0,
      tags: 0,
      scopes: 0,
      inners: 0,
      inner: 0,
      id: 0,
      url: 0,
      at: 0,
      flag: 0,
    });
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.oneof(
            fc.constantFrom(...known),
            fc.string().filter((key) => !(key in Object.prototype)),
          ),
          fc.oneof(fc.jsonValue(), fc.constant('ab')),
        ),
        (body) => {
          try {
            expect(Object.keys(read({ name: 'ab', ...body }) as object).every((key) => known.includes(key))).toBe(true);
          } catch (error) {
            expect(error).toBeInstanceOf(Refusal);
          }
        },
      ),
    );
  });
});
