import fc from 'fast-check';
import { OfferTokens, type KeylessTerms } from './keyless-terms.js';

const keyOf = (byte: number): string => Buffer.alloc(32, byte).toString('base64');

const anyTerms: fc.Arbitrary<KeylessTerms> = fc.record({
  subjectId: fc.uuid({ version: 7 }),
  network: fc.constantFrom('eip155:8453', 'eip155:84532'),
  payTo: fc.stringMatching(/^0x[0-9a-fA-F]{40}$/) as fc.Arbitrary<KeylessTerms['payTo']>,
  payee: fc.constantFrom('operator', 'seller'),
  amountBaseUnits: fc.bigInt({ min: 0n, max: 2n ** 200n }),
  priceMicros: fc.bigInt({ min: 0n, max: 10n ** 12n }),
  feeBps: fc.integer({ min: 0, max: 10_000 }),
  expiresAt: fc.integer({ min: 0, max: 4_000_000_000 }).map((seconds) => new Date(seconds * 1_000)),
});

describe('offer tokens', () => {
  const tokens = new OfferTokens(keyOf(1));

  it('give back their terms, in any process, under an id of its own each time', () => {
    fc.assert(
      fc.property(anyTerms, (terms) => {
        const [first, second] = [tokens.issue(terms), tokens.issue(terms)];
        expect(first.relayRequestId).toMatch(/^0x[0-9a-f]{64}$/);
        expect(second.relayRequestId).not.toBe(first.relayRequestId);
        expect(new OfferTokens(keyOf(1)).read(first)).toEqual(terms);
      }),
    );
  });

  it('knows nothing that was changed on the way', () => {
    fc.assert(
      fc.property(anyTerms, fc.nat(), fc.boolean(), (terms, at, inOffer) => {
        const token = tokens.issue(terms);
        const text = inOffer ? token.offer : token.relayRequestId.slice(2);
        const position = at % text.length;
        const other = inOffer ? (text[position] === 'A' ? 'B' : 'A') : text[position] === '0' ? '1' : '0';
        const changed = text.slice(0, position) + other + text.slice(position + 1);
        expect(
          tokens.read(inOffer ? { ...token, offer: changed } : { ...token, relayRequestId: `0x${changed}` }),
        ).toBeUndefined();
      }),
    );
  });

  it('are refused if they were never issued', () => {
    fc.assert(
      fc.property(fc.option(fc.string(), { nil: undefined }), fc.string(), (offer, relayRequestId) =>
        expect(tokens.read({ offer, relayRequestId })).toBeUndefined(),
      ),
    );
  });

  it('knows offers under an earlier key while that key is listed', () => {
    const [terms] = fc.sample(anyTerms, 1) as [KeylessTerms];
    const token = tokens.issue(terms);
    expect(new OfferTokens(`${keyOf(2)}, ${keyOf(1)}`).read(token)).toEqual(terms);
    expect(new OfferTokens(keyOf(2)).read(token)).toBeUndefined();
  });
});
