import { scope } from '@market/contracts';
import fc from 'fast-check';
import { normalizeScopes, scopesBeyond } from './scopes.js';

const scopes = fc.array(fc.constantFrom(...scope.options), { maxLength: 8 });

describe('scopes', () => {
  it('are a set: order and repetition change nothing', () => {
    fc.assert(
      fc.property(scopes, (list) => {
        expect(normalizeScopes([...list, ...list].reverse())).toEqual(normalizeScopes(list));
        expect(new Set(normalizeScopes(list))).toEqual(new Set(list));
      }),
    );
  });

  it('name exactly what a key would hand on without having it', () => {
    fc.assert(
      fc.property(scopes, scopes, (wanted, held) => {
        const beyond = scopesBeyond(wanted, held);
        expect(new Set([...beyond, ...held]).size).toBe(new Set([...wanted, ...held]).size);
        expect(beyond.some((each) => held.includes(each))).toBe(false);
        expect(beyond.every((each) => wanted.includes(each))).toBe(true);
      }),
    );
  });
});
