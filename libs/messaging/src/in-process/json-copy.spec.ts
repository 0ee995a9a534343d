import fc from 'fast-check';
import { jsonCopy } from './json-copy.js';

const throughText = (value: unknown): unknown => JSON.parse(JSON.stringify(value)) as unknown;

/** All that code may hand over: what JSON knows, and what it drops, turns into null or asks for its own form. */
const anything = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.string({ unit: 'binary' }),
    fc.double(),
    fc.integer(),
    fc.boolean(),
    fc.constantFrom(null, undefined, -0, Symbol('none'), () => 1, new Map([[1, 2]]), Buffer.from('bytes')),
    fc.date({ noInvalidDate: false }),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('__proto__', 'toString', '1', 'constructor')), tie('value'), { maxKeys: 5, noNullPrototype: false }),
    fc.record({ toJSON: fc.constant((key: string) => ({ key })) }),
  ),
})).value;

describe('a copy as JSON would make it', () => {
  it('is what comes back from text', () => {
    fc.assert(
      fc.property(anything, (value) => {
        const wrapped = { value, more: [value] };
        expect(jsonCopy(wrapped)).toEqual(throughText(wrapped));
        expect(JSON.stringify(jsonCopy(wrapped))).toBe(JSON.stringify(wrapped));
      }),
    );
  });

  it('shares nothing with the original', () => {
    const original = { list: [{ a: 1 }] };
    const copy = jsonCopy(original);
    copy.list[0]!.a = 2;
    expect(original.list[0]!.a).toBe(1);
  });

  it('refuses a bigint, as JSON does', () => {
    expect(() => jsonCopy({ amount: 1n })).toThrow(TypeError);
  });

  it('copies undefined as undefined', () => {
    expect(jsonCopy(undefined)).toBeUndefined();
  });
});
