import fc from 'fast-check';
import type { FastifyReply } from 'fastify';
import { keylessExample, keylessOfferExample } from './gateway.examples.js';
import { signedOffers } from './offer-receipt.js';
import { paymentRequiredOf, sendRequirements, type PaymentRequired } from './x402.js';

function headerOf(x402: PaymentRequired): { bytes: number; said: PaymentRequired } {
  let header = '';
  sendRequirements(x402, { header: (_name: string, value: string) => (header = value) } as unknown as FastifyReply);
  return {
    bytes: Buffer.byteLength(header),
    said: JSON.parse(Buffer.from(header, 'base64').toString()) as PaymentRequired,
  };
}

describe('the header PAYMENT-REQUIRED', () => {
  it('says everything but schemas where that is little', () => {
    const { said } = headerOf(keylessExample);
    expect(said).toMatchObject({ resource: keylessExample.resource, accepts: keylessExample.accepts });
  });

  it('fits the default limits of proxies with the terms of one chain at least, whatever the texts are', () => {
    const text = (maxLength: number) => fc.string({ unit: 'grapheme', maxLength });
    fc.assert(
      fc.property(
        fc.record({
          name: text(140),
          base: fc.integer({ min: 1, max: 120 }),
          example: text(300),
          chains: fc.integer({ min: 1, max: 7 }),
          signature: fc.integer({ min: 200, max: 700 }),
        }),
        ({ name, base, example, chains, signature }) => {
          const accepts = Array.from({ length: chains }, (_, n) => ({
            ...keylessOfferExample.x402,
            extra: { ...keylessOfferExample.x402.extra, offer: 'o'.repeat(500) },
            network: `eip155:${n + 1}`,
          }));
          const info = { input: { type: 'http', method: 'POST', bodyType: 'json', body: { q: example } } };
          const { bytes, said } = headerOf(
            paymentRequiredOf(
              accepts,
              { url: `https://${'m'.repeat(base)}.example/api/v1/x402/${'s'.repeat(80)}`, description: name },
              undefined,
              {
                bazaar: { info, schema: { type: 'object' } },
                ...signedOffers(accepts.map(() => 'j'.repeat(signature))),
              },
            ),
          );
          expect(bytes).toBeLessThanOrEqual(2_500);
          expect(said.accepts[0]).toEqual(accepts[0]);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('shortens what is told of a listing in Japanese before it leaves out how to pay it', () => {
    const { said } = headerOf(
      paymentRequiredOf(
        keylessExample.accepts,
        { url: `https://${'m'.repeat(60)}.example/api/v1/x402/${'s'.repeat(80)}`, description: '天気予報'.repeat(40) },
        undefined,
        { bazaar: { info: { input: { type: 'http', body: { city: '東'.repeat(285) } } }, schema: {} } },
      ),
    );
    expect(said).toMatchObject({
      accepts: keylessExample.accepts,
      extensions: { bazaar: { info: { input: { body: {} } } } },
    });
  });
});
