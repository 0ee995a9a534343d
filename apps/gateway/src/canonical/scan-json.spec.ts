import * as fc from 'fast-check';
import { JsonRejected, type JsonRejectionReason } from './json-rejected.error.js';
import { buyerBodyRules, sellerAnswerRules, type JsonRules } from './json-rules.js';
import { scanJson } from './scan-json.js';

function verdict(raw: Uint8Array | string, rules: JsonRules): JsonRejectionReason | 'accepted' {
  try {
    scanJson(raw, rules);
    return 'accepted';
  } catch (error) {
    if (error instanceof JsonRejected) return error.reason;
    throw error;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const nestedObjects = (depth: number): string => '{"a":'.repeat(depth - 1) + '{}' + '}'.repeat(depth - 1);

describe('scanJson, what both sides share', () => {
  const jsonish = fc.string({
    unit: fc.constantFrom(...'{}[]",:\\/ubtnrfE+-.0123456789aelsd \n\r\t', '\u0000', '\u001f', '\u007f', 'é', '😀', '\u2028'),
    maxLength: 24,
  });
  const damaged = fc.tuple(fc.json(), fc.nat(), fc.nat({ max: 2 }), jsonish).map(([text, place, removed, inserted]) => {
    const at = place % (text.length + 1);
    return text.slice(0, at) + inserted + text.slice(at + removed);
  });

  it('agrees with JSON.parse on what is JSON', () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), damaged, jsonish), (text) => {
        fc.pre(!/[\ud800-\udfff]/u.test(text));
        expect(verdict(text, sellerAnswerRules)).toBe(isJson(text) ? 'accepted' : 'invalid_json');
      }),
      { numRuns: 5_000 },
    );
  });

  it('gives bytes and text the same verdict and hands the text back unchanged', () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), damaged), (text) => {
        fc.pre(!/[\ud800-\udfff]/u.test(text));
        expect(verdict(Buffer.from(text), buyerBodyRules)).toBe(verdict(text, buyerBodyRules));
        if (isJson(text)) expect(scanJson(Buffer.from(text), sellerAnswerRules).text).toBe(text);
      }),
    );
  });

  it('throws nothing but JsonRejected, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        verdict(bytes, buyerBodyRules);
        verdict(bytes, sellerAnswerRules);
      }),
      { numRuns: 5_000 },
    );
  });

  it.each<[string, Uint8Array | string, JsonRejectionReason]>([
    ['nothing', '', 'invalid_json'],
    ['white space only', ' \n', 'invalid_json'],
    ['a byte order mark', '\ufeff{}', 'byte_order_mark'],
    ['a byte order mark in bytes', Uint8Array.of(0xef, 0xbb, 0xbf, 0x7b, 0x7d), 'byte_order_mark'],
    ['UTF-16', Buffer.from('{}', 'utf16le'), 'invalid_json'],
    ['an overlong encoding', Uint8Array.of(0x22, 0xc0, 0xaf, 0x22), 'invalid_utf8'],
    ['a surrogate in bytes', Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22), 'invalid_utf8'],
    ['a cut sequence', Uint8Array.of(0x22, 0xe2, 0x82, 0x22), 'invalid_utf8'],
    ['half a pair in a string', '"\ud800"', 'invalid_utf8'],
    ['the second half alone', '"\udc00x"', 'invalid_utf8'],
    ['NaN', 'NaN', 'invalid_json'],
    ['Infinity', '-Infinity', 'invalid_json'],
    ['a hex number', '0x10', 'invalid_json'],
    ['a leading zero', '01', 'invalid_json'],
    ['a leading plus', '+1', 'invalid_json'],
    ['a bare fraction', '.5', 'invalid_json'],
    ['an unfinished fraction', '1.', 'invalid_json'],
    ['an unfinished exponent', '1e+', 'invalid_json'],
    ['a trailing comma', '[1,]', 'invalid_json'],
    ['a second value', '{} {}', 'invalid_json'],
    ['a comment', '{}//', 'invalid_json'],
    ['single quotes', "{'a':1}", 'invalid_json'],
    ['the wrong bracket', '[1}', 'invalid_json'],
    ['an unclosed array', '[[1]', 'invalid_json'],
    ['a raw line feed in a string', '"a\nb"', 'invalid_json'],
    ['a short escape', '"\\u12"', 'invalid_json'],
    ['an unknown escape', '"\\x41"', 'invalid_json'],
    ['HTML', '<html></html>', 'invalid_json'],
  ])('refuses %s', (_name, raw, reason) => {
    expect(verdict(raw, buyerBodyRules)).toBe(reason);
    expect(verdict(raw, sellerAnswerRules)).toBe(reason);
  });

  it('allows exactly the depth of the rules, for arrays and for objects', () => {
    for (const rules of [buyerBodyRules, sellerAnswerRules]) {
      expect(verdict(nested(rules.maxDepth), rules)).toBe('accepted');
      expect(verdict(nested(rules.maxDepth + 1), rules)).toBe('too_deep');
      expect(verdict(nestedObjects(rules.maxDepth), rules)).toBe('accepted');
      expect(verdict(nestedObjects(rules.maxDepth + 1), rules)).toBe('too_deep');
    }
  });

  it('judges a million brackets by depth, without recursion', () => {
    expect(verdict('['.repeat(1_000_000), { ...sellerAnswerRules, maxDepth: Infinity })).toBe('invalid_json');
    expect(verdict(nested(1_000_000), { ...sellerAnswerRules, maxDepth: Infinity })).toBe('accepted');
    expect(verdict(nested(5_000), sellerAnswerRules)).toBe('too_deep');
  });

  it.each<[string, string]>([
    ['one long string', `"${'x'.repeat(1_000_000)}"`],
    ['nothing but escapes', `"${'\\u0041'.repeat(160_000)}"`],
    ['one long number', '1'.repeat(1_000_000)],
    ['a number of zeros', `0.${'0'.repeat(1_000_000)}1`],
    ['numbers that need a close look', `[${'1234567890123456e1,'.repeat(50_000)}0]`],
    ['many keys', `{${Array.from({ length: 100_000 }, (_, index) => `"k${index}":0`).join(',')}}`],
    ['escaped keys', `{${Array.from({ length: 50_000 }, (_, index) => `"\\u006b${index}":0`).join(',')}}`],
    ['white space', ' '.repeat(1_000_000)],
  ])('judges a megabyte of %s in well under a second', (_name, text) => {
    const started = performance.now();
    verdict(text, { ...buyerBodyRules, maxKeys: Infinity });
    expect(performance.now() - started).toBeLessThan(700);
  });

  it('says where it stopped', () => {
    expect(() => scanJson('{"a": nul}', sellerAnswerRules)).toThrow(new JsonRejected('invalid_json', 6));
    expect(() => scanJson('{"a":1, "a":2}', buyerBodyRules)).toThrow(new JsonRejected('duplicate_key', 8));
  });

  it('tells objects, arrays and scalars apart', () => {
    expect(scanJson(' {}', sellerAnswerRules).root).toBe('object');
    expect(scanJson('\n[1]', sellerAnswerRules).root).toBe('array');
    expect(scanJson('"a"', sellerAnswerRules).root).toBe('scalar');
  });
});

describe('scanJson, a buyer’s body', () => {
  it.each<[string, JsonRejectionReason]>([
    ['{"a":1,"a":1}', 'duplicate_key'],
    ['{"a":1,"\\u0061":2}', 'duplicate_key'],
    ['{"x":[{"b":1,"c":{"b":1},"b":2}]}', 'duplicate_key'],
    ['{"__proto__":{}}', 'forbidden_key'],
    ['{"a":[{"\\u005f_proto__":1}]}', 'forbidden_key'],
    ['{"constructor":{"prototype":{"polluted":1}}}', 'forbidden_key'],
    ['{"constructor":{"a":1,"prototype":1}}', 'forbidden_key'],
    ['{"n":9007199254740993}', 'unsafe_number'],
    ['{"n":[1e400]}', 'unsafe_number'],
    ['{"n":-1e-400}', 'unsafe_number'],
    ['{"s":"\\ud800"}', 'lone_surrogate'],
    ['{"s":"\\udc00\\ud800"}', 'lone_surrogate'],
    ['{"s":"\\ud800\\u0041"}', 'lone_surrogate'],
    ['{"\\udfff":1}', 'lone_surrogate'],
    ['{"s":"\\ud800\\uzzzz"}', 'invalid_json'],
  ])('refuses %s', (text, reason) => {
    expect(verdict(text, buyerBodyRules)).toBe(reason);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it.each([
    '{"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]}',
    '{"constructor":"Ferrari","prototype":{"prototype":1}}',
    '{"constructor":[{"prototype":1}]}',
    '{"n":[1,1.0,1e2,-0,0.1,9007199254740991]}',
    '{"s":"\\ud83d\\ude00 \\u0000 \\/"}',
    '{"toJSON":1,"hasOwnProperty":2,"":3}',
  ])('accepts %s', (text) => {
    expect(verdict(text, buyerBodyRules)).toBe('accepted');
  });

  it('allows exactly the number of keys of the rules, counted over the whole body', () => {
    const keys = (count: number): string => `{"o":[${Array.from({ length: count - 1 }, () => '{"k":1}').join(',')}]}`;
    expect(verdict(keys(2_000), buyerBodyRules)).toBe('accepted');
    expect(verdict(keys(2_001), buyerBodyRules)).toBe('too_many_keys');
  });

  it('refuses an escaped NUL where the rules say so', () => {
    expect(verdict('{"a":"\\u0000"}', { ...buyerBodyRules, forbidNul: true })).toBe('nul_character');
    expect(verdict('{"\\u0000":1}', { ...buyerBodyRules, forbidNul: true })).toBe('nul_character');
  });
});

describe('scanJson, a seller’s answer', () => {
  it.each([
    '{"n":123456789012345678901234567890,"m":1e400}',
    '{"a":1,"a":2,"__proto__":{"x":1},"constructor":{"prototype":1}}',
    '"\\ud800 \\u0000"',
    'null',
    ' [ ] ',
  ])('relays %s untouched', (text) => {
    expect(scanJson(Buffer.from(text), sellerAnswerRules).text).toBe(text);
  });
});
