import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { API_KEY_SECRET_LENGTH, apiKeyOf, BASE62, hashApiKey } from './api-key-format.js';

const secret = fc.string({ unit: fc.constantFrom(...BASE62), minLength: API_KEY_SECRET_LENGTH, maxLength: API_KEY_SECRET_LENGTH });

describe('API key format', () => {
  it('knows a whole key by its SHA-256', () => {
    fc.assert(
      fc.property(secret.map(apiKeyOf), (key) => {
        expect(key).toMatch(/^am_k_[0-9A-Za-z]{49}$/);
        expect(hashApiKey(key)).toBe(createHash('sha256').update(key).digest('hex'));
      }),
    );
  });

  it('refuses a key with any one character changed, dropped, doubled or swapped with its neighbour', () => {
    const key = fc.sample(secret.map(apiKeyOf), 1)[0]!;
    for (let at = 0; at < key.length; at += 1) {
      for (const digit of BASE62) if (digit !== key[at]) expect(hashApiKey(key.slice(0, at) + digit + key.slice(at + 1))).toBeNull();
      expect(hashApiKey(key.slice(0, at) + key.slice(at + 1))).toBeNull();
      expect(hashApiKey(key.slice(0, at) + key[at]! + key.slice(at))).toBeNull();
      if (at > 0 && key[at] !== key[at - 1]) expect(hashApiKey(key.slice(0, at - 1) + key[at]! + key[at - 1]! + key.slice(at + 1))).toBeNull();
    }
  });

  it('refuses arbitrary text, and well-formed guesses except one in 2^32', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^am_k_[0-9A-Za-z]{49}$/)), (text) => {
        expect(hashApiKey(text)).toBeNull();
      }),
      { numRuns: 1000 },
    );
    const key = apiKeyOf('x'.repeat(API_KEY_SECRET_LENGTH));
    for (const text of ['', 'am_k_', `${key}\n`, ` ${key}`, `Bearer ${key}`, key.toUpperCase(), 'a'.repeat(1e6)]) expect(hashApiKey(text)).toBeNull();
  });
});
