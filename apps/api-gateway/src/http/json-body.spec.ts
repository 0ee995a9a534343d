import fc from 'fast-check';
import { problemOf } from './json-body.js';

const nest = (depth: number): unknown => JSON.parse('[{"a":'.repeat(depth / 2) + '1' + '}]'.repeat(depth / 2));

describe('a JSON body', () => {
  it('may be 32 levels deep and no deeper', () => {
    expect(problemOf(nest(32))).toBeUndefined();
    expect(problemOf(nest(34))).toContain('deeper');
    expect(problemOf(nest(100_000))).toContain('deeper');
  });

  it('may have 2000 keys and items and no more', () => {
    expect(problemOf(Array.from({ length: 2_000 }, () => 0))).toBeUndefined();
    expect(problemOf(Array.from({ length: 2_001 }, () => 0))).toContain('more than');
    expect(problemOf(Object.fromEntries(Array.from({ length: 2_001 }, (_, index) => [`k${index}`, 0])))).toContain(
      'more than',
    );
  });

  it.each(['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf'])(
    'may not name the key %s, at any depth',
    (key) => {
      expect(problemOf(JSON.parse(`{"${key}": 1}`))).toContain('not allowed');
      expect(problemOf(JSON.parse(`{"a": [{"${key}": {"x": 1}}]}`))).toContain('not allowed');
    },
  );

  it('may not contain text that PostgreSQL cannot keep, in values or keys', () => {
    for (const unfit of ['\0', 'a\0', '\ud800']) {
      expect(problemOf({ a: [unfit] })).toContain('NUL');
      expect(problemOf({ [unfit]: 1 })).toContain('NUL');
    }
  });

  it('is judged without failing, whatever it is', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 40 }),
        (value) => void expect(['string', 'undefined']).toContain(typeof problemOf(value)),
      ),
    );
  });
});
