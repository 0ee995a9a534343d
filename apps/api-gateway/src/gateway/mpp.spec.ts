import fc from 'fast-check';
import type { FastifyRequest } from 'fastify';
import { Challenge } from 'mppx';
import { evm } from 'mppx/client';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { keylessOfferExample, offerExample } from './gateway.examples.js';
import { challengeHeader, challengeOf, parseChallenge, readPayment } from './mpp.js';

const URL_HERE = 'https://market.example/api/v1/x402/weather';
const [stored] = offerExample.x402 as [(typeof offerExample.x402)[0]];
const account = privateKeyToAccount(generatePrivateKey());
const method = evm.charge({ account, authorization: { name: 'USDC', version: '2' } });

const request = (headers: Record<string, string>, sentBody = '{}'): FastifyRequest =>
  ({ headers, sentBody }) as unknown as FastifyRequest;
const read = (credential: string, sentBody?: string) => {
  const asked = request({ authorization: credential }, sentBody);
  return { ...readPayment(asked, URL_HERE), challengeId: asked.challengeId };
};
/** What the stock client sends. */
const signed = async (accept: Parameters<typeof challengeOf>[0]): Promise<string> => {
  const header = challengeHeader(challengeOf(accept, URL_HERE, request({}))!);
  return method.createCredential({ challenge: Challenge.deserialize(header) as never, context: {} });
};

describe('a credential of the Machine Payments Protocol', () => {
  it.each([
    ['a stored offer', stored],
    ['an offer that carries its terms', keylessOfferExample.x402],
  ])('is the x402 payment of %s, as it was asked for', async (_what, accept) => {
    const { authorization, relayRequestId, payer, network, challengeId } = read(await signed(accept));
    const { accepted, payload } = JSON.parse(authorization!) as {
      accepted: object;
      payload: { authorization: object };
    };
    expect(accepted).toEqual(accept);
    expect(payload.authorization).toMatchObject({ from: account.address, value: accept.amount, validAfter: '0' });
    expect([relayRequestId, payer, network]).toEqual([accept.extra.relayRequestId, account.address, accept.network]);
    expect(challengeId).toMatch(/^[\w-]{64}(\.|$)/);
  });

  it('is asked for anew each time on EVM chains, and on no other', () => {
    const challenge = challengeOf(stored, URL_HERE, request({}))!;
    expect(parseChallenge(challengeHeader(challenge))).toMatchObject({
      id: challenge.id,
      request: { amount: stored.amount },
    });
    expect(
      challengeOf({ ...stored, network: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp' }, URL_HERE, request({})),
    ).toBeUndefined();
  });

  it('pays nothing if anything of it was changed, or if its body was', async () => {
    const credential = await signed(keylessOfferExample.x402);
    expect(read(credential, '{ }').rejection?.reason).toBe('invalid_challenge');
    const { challenge, payload } = JSON.parse(Buffer.from(credential.slice(8), 'base64url').toString()) as Record<
      'challenge' | 'payload',
      Record<string, string>
    >;
    const without = ['signature', 'from', 'to', 'value', 'validAfter'];
    const fields = [
      ...Object.keys(challenge!).map((name) => ['challenge', name] as const),
      ...Object.keys(payload!)
        .filter((name) => !without.includes(name))
        .map((name) => ['payload', name] as const),
    ];
    fc.assert(
      fc.property(fc.constantFrom(...fields), fc.option(fc.string(), { nil: undefined }), ([part, name], value) => {
        const changed = { challenge, payload, [part]: { ...{ challenge, payload }[part], [name]: value } };
        fc.pre(value !== { challenge, payload }[part]![name] && !(name === 'validBefore' && Number(value) < 4e9));
        const text = Buffer.from(JSON.stringify(changed)).toString('base64url');
        const { rejection, authorization } = read(`Payment ${text}`);
        expect([rejection?.reason, authorization]).toEqual([expect.any(String), undefined]);
      }),
      { numRuns: 500 },
    );
  });

  it('is refused without an error, whatever it is', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.jsonValue(), fc.record({ challenge: fc.jsonValue(), payload: fc.jsonValue() })),
        (value) => {
          const text = Buffer.from(JSON.stringify(value)).toString('base64url');
          expect(read(`Payment ${text}`).rejection?.reason).toBe('malformed_credential');
        },
      ),
    );
    for (const odd of ['Payment', 'Payment ', 'payment =', 'Payment e30 e30', `Payment ${'x'.repeat(20_000)}`])
      expect(read(odd).rejection?.reason).toBe('malformed_credential');
  });
});
