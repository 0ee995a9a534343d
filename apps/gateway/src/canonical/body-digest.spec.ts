import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { bodyDigest } from './body-digest.js';
import { JsonRejected } from './json-rejected.error.js';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

const object = fc
  .dictionary(fc.string({ unit: 'grapheme', maxLength: 6 }), fc.jsonValue({ maxDepth: 3, stringUnit: 'grapheme' }), { maxKeys: 6 })
  .map((value) => JSON.parse(JSON.stringify(value)) as { [key: string]: Json })
  .filter((value) => !JSON.stringify(value).includes('__proto__'));

/** Writes a value in one of its many spellings; `pick(n)` chooses among n. */
function spell(value: Json, pick: (choices: number) => number): string {
  const space = (): string => ['', '', ' ', '\n\t ', '\r\n'][pick(5)]!;
  const word = (text: string): string => {
    const escaped = [...JSON.stringify(text).slice(1, -1).matchAll(/\\u[0-9a-f]{4}|\\.|./gsu)].map(([part]) => {
      if (part.startsWith('\\') || pick(4) > 0) return part;
      return [...Array(part.length).keys()].map((unit) => `\\u${part.charCodeAt(unit).toString(16).padStart(4, '0')}`).join('');
    });
    return `"${escaped.join('')}"`;
  };
  const number = (amount: number): string => {
    const plain = String(amount);
    if (!/^-?\d+$/.test(plain)) return [plain, plain.replace('e', 'E')][pick(2)]!;
    return [plain, `${plain}.0`, `${plain}e0`, `${plain}.000e-0`, amount === 0 ? '0e7' : `${plain}0e-1`][pick(5)]!;
  };
  const write = (part: Json): string => {
    if (typeof part === 'number') return number(part);
    if (typeof part === 'string') return word(part);
    if (part === null || typeof part === 'boolean') return String(part);
    if (Array.isArray(part)) return `[${space()}${part.map(write).join(`${space()},${space()}`)}${space()}]`;
    const members = Object.entries(part).sort(() => pick(3) - 1);
    return `{${space()}${members.map(([key, of]) => `${word(key)}${space()}:${space()}${write(of)}`).join(`,${space()}`)}${space()}}`;
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

const zeroesAlike = (_key: string, value: unknown): unknown => (value === 0 ? 0 : value);

describe('bodyDigest', () => {
  it('is SHA-256 of the RFC 8785 form', () => {
    const body = '{ "numbers": [333333333.3333333, 1E30, 4.50, 2e-3, 0.000000000000000000000000001], "literals": [null, true, false], "€": "\\u20ac$\\u000F\\u000aA\'\\u0042" }';
    const canonical = '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"€":"€$\\u000f\\nA\'B"}';
    expect(bodyDigest(body)).toEqual(createHash('sha256').update(canonical).digest());
  });

  it('is the same for every spelling of a body', () => {
    fc.assert(
      fc.property(object, fc.nat(), fc.nat(), (value, first, second) => {
        const spelling = spell(value, picker(first));
        expect(JSON.parse(spelling)).toEqual(value);
        expect(bodyDigest(Buffer.from(spelling))).toEqual(bodyDigest(spell(value, picker(second))));
      }),
      { numRuns: 2_000 },
    );
  });

  it('differs for bodies that mean different things', () => {
    fc.assert(
      fc.property(object, object, (one, other) => {
        expect(bodyDigest(JSON.stringify(one)).equals(bodyDigest(JSON.stringify(other)))).toBe(isDeepStrictEqual(one, other));
      }),
      { numRuns: 2_000 },
    );
  });

  it('changes with any one-byte change that leaves another valid body', () => {
    fc.assert(
      fc.property(object, fc.nat(), fc.constantFrom(...Buffer.from('0123456789aAeE.-+ "\\{}[]:,\n')), (value, place, byte) => {
        const original = JSON.stringify(value);
        const mutated = Buffer.from(original);
        mutated[place % mutated.length] = byte;
        let digest: Buffer;
        try {
          digest = bodyDigest(mutated);
        } catch (error) {
          expect(error).toBeInstanceOf(JsonRejected);
          return;
        }
        const same = isDeepStrictEqual(JSON.parse(mutated.toString(), zeroesAlike), JSON.parse(original, zeroesAlike));
        expect(digest.equals(bodyDigest(original))).toBe(same);
      }),
      { numRuns: 5_000 },
    );
  });

  it('tells composed from decomposed characters', () => {
    expect(bodyDigest('{"a":"é"}').equals(bodyDigest('{"a":"e\u0301"}'))).toBe(false);
  });

  it.each(['[]', '"a"', '1', 'null', ' true '])('refuses %s, which is not an object', (raw) => {
    expect(() => bodyDigest(raw)).toThrow(new JsonRejected('not_an_object', 0));
  });

  it('throws nothing but JsonRejected, whatever the bytes', () => {
    const bytes = fc.oneof(fc.uint8Array({ maxLength: 48 }), fc.json().map((text) => Buffer.from(text)));
    fc.assert(
      fc.property(bytes, (raw) => {
        try {
          expect(bodyDigest(raw)).toHaveLength(32);
        } catch (error) {
          expect(error).toBeInstanceOf(JsonRejected);
        }
      }),
      { numRuns: 3_000 },
    );
  });
});
