import fc from 'fast-check';
import { lossOf } from './json-text.js';

const keyOf = (text: string): string | undefined => lossOf(text).repeatedKey;
const numberOf = (text: string): string | undefined => lossOf(text).inexactNumber;

describe('what JSON.parse loses of a text', () => {
  it.each([
    ['{"a":1,"a":2}', 'a'],
    ['{"a":1,"a":1}', 'a'],
    ['{"a":1,"\\u0061":2}', 'a'],
    ['{"":1,"b":{},"" :2}', ''],
    ['[{"a":{"b":[{"c":1,"d":{"c":3},"c":2}]}}]', 'c'],
    ['{"__proto__":1,"__proto__":2}', '__proto__'],
    ['{"a\\"":1,"a\\u0022":2}', 'a"'],
    ['{"\\\\":1,"\\\\":2}', '\\'],
    ['{"a":[1,{"x":1}],"a":null}', 'a'],
  ])('is a value in %s, whose key is repeated', (text, key) => {
    expect(keyOf(text)).toBe(key);
  });

  it.each([
    '{"a":{"a":{"a":1}}}',
    '[{"a":1},{"a":2}]',
    '{"a":"a","b":"a"}',
    '{"a":"\\"b\\":1,","b":"{\\"a\\":1,\\"a\\":2}"}',
    '{"a":"\\\\","\\"a":1}',
    '{"a":1,"A":2,"a ":3}',
    '["a","a"]',
    '"a"',
  ])('is no key of %s', (text) => {
    expect(keyOf(text)).toBeUndefined();
  });

  it.each([
    '1234567890123456789',
    '-1234567890123456789',
    '9007199254740993',
    '1e400',
    '-1e400',
    '1e-400',
    '0.10000000000000000001',
    '1234567890123456789.0',
    '123456789012345678.9e1',
    '1.0000000000000000000001e0',
    `1${'0'.repeat(400)}`,
    `0.${'0'.repeat(400)}1`,
  ])('is a part of the number %s', (number) => {
    expect(numberOf(number)).toBe(number);
    expect(numberOf(`{"a":["${number}",${number}]}`)).toBe(number);
  });

  it.each([
    '0',
    '-0',
    '0.0e99999',
    '0.1',
    '1.50000000000000000000',
    '9007199254740992',
    '-9007199254740991',
    '100000000000000000000000',
    '1E+21',
    '1e-7',
    '5e-324',
    '1.7976931348623157e308',
    '0.30000000000000004',
    '123000e-3',
  ])('is nothing of the number %s', (number) => {
    expect(numberOf(number)).toBeUndefined();
    expect(numberOf(`[${number}]`)).toBeUndefined();
  });

  it('is nothing of what JSON.stringify wrote, and a repeated key wherever one is put in', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5, stringUnit: 'binary' }), (value) => {
        const text = JSON.stringify(value);
        expect(lossOf(text)).toEqual({ repeatedKey: undefined, inexactNumber: undefined });
        for (const { index } of text.matchAll(/\{/g)) {
          const twice = `${text.slice(0, index + 1)}"k":1,"k":2${text[index + 1] === '}' ? '' : ','}${text.slice(index + 1)}`;
          let isJson = true;
          try {
            JSON.parse(twice);
          } catch {
            isJson = false;
          }
          if (isJson && JSON.stringify(JSON.parse(twice)) !== twice) expect(keyOf(twice)).toBeDefined();
        }
      }),
    );
  });
});
