import { countOf, TEST_SEED } from '@market/test-servers/threats';
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { lossOf } from '@market/kernel';
import { bodyDigest } from './body-digest.js';
import { MAX_DEPTH, parseJson } from './parse-json.js';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** Keys include `__proto__`, which must be treated like any other key. */
const key = fc.oneof(
  { weight: 9, arbitrary: fc.string({ unit: 'grapheme', maxLength: 6 }) },
  { weight: 1, arbitrary: fc.constantFrom('__proto__', 'constructor', 'toJSON') },
);
const object = fc.array(fc.tuple(key, fc.jsonValue({ maxDepth: 3, stringUnit: 'grapheme' })), { maxLength: 6 }).map(
  (members) =>
    JSON.parse(`{${members.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join()}}`) as {
      [key: string]: Json;
    },
);

/** Writes a value in one of its JSON spellings; `pick(n)` chooses one of n. */
function spell(value: Json, pick: (choices: number) => number): string {
  const space = (): string => ['', '', ' ', '\n\t ', '\r\n'][pick(5)]!;
  const word = (text: string): string =>
    JSON.stringify(text).replace(/[\da-z]/g, (letter, at: number, whole: string) =>
      whole[at - 1] === '\\' || /\\u[0-9a-f]{0,3}$/.test(whole.slice(0, at)) || pick(4) > 0
        ? letter
        : `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
  const number = (amount: number): string =>
    Number.isInteger(amount) && Math.abs(amount) < 1e15
      ? [`${amount}`, `${amount}.0`, `${amount}e0`][pick(3)]!
      : String(amount);
  const write = (part: Json): string => {
    if (typeof part === 'number') return number(part);
    if (typeof part === 'string') return word(part);
    if (typeof part !== 'object' || part === null) return String(part);
    if (Array.isArray(part)) return `[${space()}${part.map(write).join(`${space()},${space()}`)}${space()}]`;
    const members = Object.entries(part).sort(() => pick(3) - 1);
    return `{${space()}${members.map(([name, of]) => `${word(name)}${space()}:${space()}${write(of)}`).join(`,${space()}`)}${space()}}`;
  };
  return space() + write(value) + space();
}

function picker(seed: number): (choices: number) => number {
  let state = seed;
  return (choices) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % choices;
  };
}

const digestOf = (body: string): string => {
  const result = bodyDigest(body);
  return 'problem' in result ? result.problem : result.digest.toString('hex');
};
const zeroesAlike = (_key: string, value: unknown): unknown => (value === 0 ? 0 : value);

describe('bodyDigest', () => {
  it('is SHA-256 of the RFC 8785 form', () => {
    const body =
      '{ "numbers": [333333333.3333333, 1E30, 4.50, 2e-3, 0.000000000000000000000000001], ' +
      '"literals": [null, true, false], "€": "\\u20ac$\\u000F\\u000aA\'\\u0042" }';
    const canonical =
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"€":"€$\\u000f\\nA\'B"}';
    expect(digestOf(body)).toBe(createHash('sha256').update(canonical).digest('hex'));
  });

  it('is the same for every spelling of a body', () => {
    fc.assert(
      fc.property(object, fc.nat(), fc.nat(), (value, first, second) => {
        const spelling = spell(value, picker(first));
        expect(JSON.parse(spelling)).toEqual(value);
        expect(digestOf(spelling)).toBe(digestOf(spell(value, picker(second))));
      }),
      { numRuns: 2_000 },
    );
  });

  it('differs after any change of one character that changes a value', () => {
    fc.assert(
      fc.property(object, fc.nat(), fc.constantFrom(...'0123456789aAeE.-+ "\\{}[]:,\n'), (value, place, character) => {
        const original = JSON.stringify(value);
        const at = place % original.length;
        const changed = original.slice(0, at) + character + original.slice(at + 1);
        const parsed = parseJson(changed);
        if ('problem' in parsed) return void expect(digestOf(changed)).toBe(parsed.problem);
        const { repeatedKey, inexactNumber } = lossOf(changed);
        if (repeatedKey !== undefined) return void expect(digestOf(changed)).toBe('duplicate_key');
        if (inexactNumber !== undefined) return void expect(digestOf(changed)).not.toBe(digestOf(original));
        expect(digestOf(changed) === digestOf(original)).toBe(
          isDeepStrictEqual(JSON.parse(changed, zeroesAlike), JSON.parse(original, zeroesAlike)),
        );
      }),
      { seed: TEST_SEED, numRuns: countOf('bodies') },
    );
  });

  it.each([
    ['{"a":"é"}', '{"a":"e\\u0301"}'],
    ['{"__proto__":{"a":1}}', '{"__proto__":{"a":2}}'],
    ['{"id":1234567890123456789}', '{"id":1234567890123456788}'],
    ['{"id":1234567890123456789}', '{"id":1234567890123456800}'],
    ['{"id":9007199254740993}', '{"id":9007199254740992}'],
    ['{"n":[0.10000000000000000001]}', '{"n":[0.1]}'],
    ['{"n":1e-400}', '{"n":0}'],
    ['{"n":1e400}', '{"n":-1e400}'],
    ['{"n":1e400}', '{"n":null}'],
    ['{"a":"\\ud800"}', '{"a":"\\ud801"}'],
  ])('tells %s from %s', (one, other) => {
    expect(digestOf(one)).toMatch(/^[0-9a-f]{64}$/);
    expect(digestOf(one)).toBe(digestOf(one));
    expect(digestOf(one)).not.toBe(digestOf(other));
  });

  it.each(['{"n":5000,"n":5}', '{"n":5,"n":5}', '{"a":[{"n":1,"\\u006e":1}]}', '[{"n":1,"n":2}]'])(
    'refuses %s, which repeats a key',
    (body) => {
      expect(digestOf(body)).toBe('duplicate_key');
    },
  );

  it.each(['[]', '"a"', '1', 'null', ' true '])('refuses %s, which is not an object', (body) => {
    expect(digestOf(body)).toBe('not_an_object');
  });

  it.each(['', ' \n', '\ufeff{}', '{} {}', "{'a':1}", '{"a":NaN}', '{"a":"\u0000"}', '{"a":1,}'])(
    'refuses %j, which is not JSON',
    (body) => {
      expect(digestOf(body)).toBe('invalid_json');
    },
  );
});

describe('the depth of a JSON text', () => {
  const objects = (depth: number): string => `${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`;
  const arrays = (depth: number): string => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;

  it('is bounded, for arrays and for objects, and brackets in strings do not count', () => {
    for (const nested of [objects, arrays]) {
      expect(digestOf(nested(MAX_DEPTH))).toMatch(/^[0-9a-f]{64}$/);
      expect(digestOf(nested(MAX_DEPTH + 1))).toBe('too_deep');
      expect(digestOf(nested(250_000))).toBe('too_deep');
      expect(digestOf(JSON.stringify({ text: `\\"${nested(1_000)}` }))).toMatch(/^[0-9a-f]{64}$/);
    }
    expect(digestOf('['.repeat(1_000_000))).toBe('invalid_json');
    expect(digestOf(`{"a":[${'{},[],'.repeat(1_000)}0]}`)).toMatch(/^[0-9a-f]{64}$/);
  });
});
