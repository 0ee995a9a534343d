import { countOf, TEST_SEED } from '@market/test-servers/threats';
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import {
  apiKeyOf,
  BASE62,
  CREDENTIAL_SECRET_LENGTH,
  hashApiKey,
  hashSessionToken,
  sessionTokenOf,
} from './credential-format.js';

const secret = fc.string({
  unit: fc.constantFrom(...BASE62),
  minLength: CREDENTIAL_SECRET_LENGTH,
  maxLength: CREDENTIAL_SECRET_LENGTH,
});

describe.each([
  ['an API key', 'am_k_', apiKeyOf, hashApiKey, hashSessionToken],
  ['a session token', 'am_s_', sessionTokenOf, hashSessionToken, hashApiKey],
])('the format of %s', (_name, prefix, textOf, hashOf, hashOfTheOther) => {
  it('has its prefix and is known by its SHA-256, under its own kind alone', () => {
    fc.assert(
      fc.property(secret.map(textOf), (text) => {
        expect(text).toMatch(new RegExp(`^${prefix}[0-9A-Za-z]{49}$`));
        expect(hashOf(text)).toBe(createHash('sha256').update(text).digest('hex'));
        expect(hashOfTheOther(text)).toBeNull();
      }),
    );
  });

  it('refuses one with any one character changed, dropped, doubled or swapped with its neighbour', () => {
    const text = fc.sample(secret.map(textOf), 1)[0]!;
    for (let at = 0; at < text.length; at += 1) {
      for (const digit of BASE62)
        if (digit !== text[at]) expect(hashOf(text.slice(0, at) + digit + text.slice(at + 1))).toBeNull();
      expect(hashOf(text.slice(0, at) + text.slice(at + 1))).toBeNull();
      expect(hashOf(text.slice(0, at) + text[at]! + text.slice(at))).toBeNull();
      if (at > 0 && text[at] !== text[at - 1])
        expect(hashOf(text.slice(0, at - 1) + text[at]! + text[at - 1]! + text.slice(at + 1))).toBeNull();
    }
  });

  it('refuses arbitrary text, and well-formed guesses except one in 2^32', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(new RegExp(`^${prefix}[0-9A-Za-z]{49}$`))), (text) => {
        expect(hashOf(text)).toBeNull();
      }),
      { seed: TEST_SEED, numRuns: countOf('reads') },
    );
    const good = textOf('x'.repeat(CREDENTIAL_SECRET_LENGTH));
    for (const text of ['', prefix, `${good}\n`, ` ${good}`, `Bearer ${good}`, good.toUpperCase(), 'a'.repeat(1e6)])
      expect(hashOf(text)).toBeNull();
  });
});
