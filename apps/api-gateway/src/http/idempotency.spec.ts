import fc from 'fast-check';
import { newRequestContext } from '@market/messaging';
import type { FastifyRequest } from 'fastify';
import { canonicalJson, idempotencyKeyOf, idempotentContext } from './idempotency.js';

const request = (key: string | undefined, url = '/api/v1/listings'): FastifyRequest =>
  ({
    method: 'POST',
    headers: { 'idempotency-key': key },
    raw: { url },
    context: newRequestContext(),
  }) as unknown as FastifyRequest;
const fingerprint = (body: object, url?: string, proofs?: string[]): string =>
  idempotentContext(request('k', url), body, proofs).idempotency!.fingerprint;

describe('Idempotency-Key', () => {
  it('is 1 to 255 visible ASCII characters', () => {
    for (const key of ['k', '~!', 'x'.repeat(255)]) expect(idempotencyKeyOf(request(key))).toBe(key);
    for (const key of ['', ' ', 'a b', 'x'.repeat(256), 'ä', 'a, a', 'a\u007f'])
      expect(() => idempotencyKeyOf(request(key))).toThrow();
    expect(idempotencyKeyOf(request(undefined))).toBeUndefined();
  });

  it('leaves the context as it is where none is sent', () => {
    const plain = request(undefined);
    expect(idempotentContext(plain, {})).toBe(plain.context);
  });

  it('is bound to path and body, however the body is ordered', () => {
    expect(fingerprint({ a: 1, b: { c: [1, 2], d: 'x' } })).toBe(fingerprint({ b: { d: 'x', c: [1, 2] }, a: 1 }));
    expect(fingerprint({ a: 1 })).not.toBe(fingerprint({ a: 2 }));
    expect(fingerprint({ a: [1, 2] })).not.toBe(fingerprint({ a: [2, 1] }));
    expect(fingerprint({ a: 1 })).not.toBe(fingerprint({ a: 1 }, '/api/v1/api-keys'));
    expect(fingerprint({ a: 1 })).toBe(fingerprint({ a: 1 }, '/api/v1/listings?x=1'));
    expect(fingerprint({ a: 1 })).toMatch(/^[0-9a-f]{64}$/);
  });

  it('does not look at proofs', () => {
    expect(fingerprint({ a: 1, proof: 'x' }, undefined, ['proof'])).toBe(
      fingerprint({ a: 1, proof: 'y' }, undefined, ['proof']),
    );
  });
});

describe('canonicalJson', () => {
  it('is the same text for the same value, and parses back to it', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const shuffled = JSON.parse(
          JSON.stringify(value, (_, member: unknown) =>
            typeof member === 'object' && member !== null && !Array.isArray(member)
              ? Object.fromEntries(Object.entries(member).reverse())
              : member,
          ),
        ) as unknown;
        expect(canonicalJson(shuffled)).toBe(canonicalJson(value));
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });
});
