import fc from 'fast-check';
import type { FastifyReply } from 'fastify';
import { keylessExample, keylessOfferExample } from './gateway.examples.js';
import { signedOffers } from './offer-receipt.js';
import { paymentRequiredOf, sendRequirements, type PaymentRequired } from './x402.js';

function headerOf(x402: PaymentRequired, headers: Record<string, string> = {}) {
  let header = '';
  let challenge = '';
  const reply = {
    request: { headers },
    header(name: string, value: string) {
      if (name === 'payment-required') header = value;
      else challenge = value;
      return reply;
    },
  };
  sendRequirements(x402, reply as unknown as FastifyReply);
  return {
    bytes: Buffer.byteLength(header),
    together: Buffer.byteLength(header + challenge),
    challenge,
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
          offer: fc.integer({ min: 200, max: 500 }),
          headers: fc.constantFrom<Record<string, string>>(
            {},
            { origin: 'https://a.example' },
            { authorization: 'Bearer x' },
          ),
        }),
        ({ name, base, example, chains, signature, offer, headers }) => {
          const accepts = Array.from({ length: chains }, (_, n) => ({
            ...keylessOfferExample.x402,
            extra: { ...keylessOfferExample.x402.extra, offer: 'o'.repeat(offer) },
            network: `eip155:${n + 1}`,
          }));
          const info = { input: { type: 'http', method: 'POST', bodyType: 'json', body: { q: example } } };
          const { bytes, said, challenge, together } = headerOf(
            paymentRequiredOf(
              accepts,
              { url: `https://${'m'.repeat(base)}.example/api/v1/x402/${'s'.repeat(80)}`, description: name },
              undefined,
              {
                bazaar: { info, schema: { type: 'object' } },
                ...signedOffers(accepts.map(() => 'j'.repeat(signature))),
              },
            ),
            headers,
          );
          expect(bytes).toBeLessThanOrEqual(2_500);
          expect(together).toBeLessThanOrEqual(headers.origin ? 2_500 : 3_100);
          if (offer <= 250 && base <= 40) expect(challenge).toMatch(/^Payment id="/);
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
