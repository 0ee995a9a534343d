import fc from 'fast-check';
import { SCOPES, normalizeScopes, scopesBeyond } from './scopes.js';

const scopes = fc.array(fc.constantFrom(...SCOPES), { maxLength: 8 });

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
        expect(beyond.some((scope) => held.includes(scope))).toBe(false);
        expect(beyond.every((scope) => wanted.includes(scope))).toBe(true);
      }),
    );
  });
});
