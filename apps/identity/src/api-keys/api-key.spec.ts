import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { apiKeyPrefix, generateApiKey, hashApiKey, parseApiKey } from './api-key.js';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

describe('API key', () => {
  it('is am_k_, 43 base62 digits and a 6-digit checksum, never twice the same', () => {
    const keys = Array.from({ length: 500 }, generateApiKey);
    expect(keys.every((key) => /^am_k_[0-9A-Za-z]{49}$/.test(key) && parseApiKey(key) === key)).toBe(true);
    expect(new Set(keys).size).toBe(500);
  });

  it('draws every digit equally often', () => {
    const counts = new Map<string, number>();
    for (let round = 0; round < 2000; round++) for (const digit of generateApiKey().slice(5, 48)) counts.set(digit, (counts.get(digit) ?? 0) + 1);
    const expected = (2000 * 43) / 62;
    const chiSquare = [...BASE62].reduce((sum, digit) => sum + ((counts.get(digit) ?? 0) - expected) ** 2 / expected, 0);
    // 61 degrees of freedom exceed 135 once in 5 million runs; the bias of byte % 62 would give about 500.
    expect(chiSquare).toBeLessThan(135);
  });

  it('is refused with any one character changed, dropped, doubled or swapped with its neighbour', () => {
    const key = generateApiKey();
    for (let at = 0; at < key.length; at++) {
      for (const digit of BASE62) if (digit !== key[at]) expect(parseApiKey(key.slice(0, at) + digit + key.slice(at + 1))).toBeNull();
      expect(parseApiKey(key.slice(0, at) + key.slice(at + 1))).toBeNull();
      expect(parseApiKey(key.slice(0, at) + key[at] + key.slice(at))).toBeNull();
      if (at > 0 && key[at] !== key[at - 1]) expect(parseApiKey(key.slice(0, at - 1) + key[at] + key[at - 1] + key.slice(at + 1))).toBeNull();
    }
  });

  it('is refused as arbitrary text, and as a well-formed guess except once in 2^32', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^am_k_[0-9A-Za-z]{49}$/)), (text) => {
        expect(parseApiKey(text)).toBeNull();
      }),
      { numRuns: 1000 },
    );
    for (const text of [`${generateApiKey()}\n`, ` ${generateApiKey()}`, generateApiKey().toUpperCase(), 'am_k_', 'a'.repeat(1e6)]) expect(parseApiKey(text)).toBeNull();
  });

  it('is stored as its SHA-256 and shown by its first 12 characters', () => {
    const key = generateApiKey();
    expect(hashApiKey(key)).toEqual(createHash('sha256').update(key).digest());
    expect(apiKeyPrefix(key)).toBe(key.slice(0, 12));
    expect(apiKeyPrefix(key)).toMatch(/^am_k_[0-9A-Za-z]{7}$/);
  });
});
