import { createHash, randomBytes } from 'node:crypto';
import { newId } from '@market/kernel';
import { calculateJwkThumbprint, createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { parseSigningKeys, ReceiptSigner, type ReceiptClaims } from './receipt-signer.js';

const key = (): string => randomBytes(32).toString('base64');
const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

const CLAIMS: ReceiptClaims = {
  iss: 'https://market.test',
  iat: 1_767_225_600,
  receipt_id: newId(),
  payment_id: newId(),
  recipient_type: 'buyer',
  buyer_id: newId(),
  seller_id: newId(),
  listing: { id: newId(), name: 'Wetter für Zürich', slug: 'wetter' },
  gross_amount: 0.25,
  fee_rate: 0.05,
  fee_amount: 0.0125,
  net_amount: 0.2375,
  currency: 'USD',
  paid: { asset: 'USDC', amount: '0.25', amount_base_units: '250000' },
  network: 'eip155:84532',
  transaction_hash: `0x${digest('transaction')}`,
  relay_request_id: `0x${digest('relay')}`,
  gateway_request_id: newId(),
  request_digest: digest('request'),
  response_digest: digest('response'),
  seller_status_code: 200,
};

describe('a signed receipt', () => {
  it('is verified by the published keys alone, and is the same text each time', async () => {
    const signer = await ReceiptSigner.load(key());
    const jws = signer.sign(CLAIMS);
    expect(signer.sign({ ...CLAIMS })).toBe(jws);
    const { payload } = await jwtVerify(jws, createLocalJWKSet({ keys: signer.publicKeys }), {
      issuer: CLAIMS.iss,
      typ: 'receipt+jwt',
      algorithms: ['EdDSA'],
    });
    expect(payload).toEqual(CLAIMS);
  });

  it('names its key by the RFC 7638 thumbprint, and publishes no private half', async () => {
    const signer = await ReceiptSigner.load(key());
    const [published] = signer.publicKeys;
    expect(published).toEqual({
      kty: 'OKP',
      crv: 'Ed25519',
      x: expect.stringMatching(/^[\w-]{43}$/),
      kid: await calculateJwkThumbprint({ kty: 'OKP', crv: 'Ed25519', x: published!.x }),
      use: 'sig',
      alg: 'EdDSA',
    });
    expect(decodeProtectedHeader(signer.sign(CLAIMS))).toEqual({
      alg: 'EdDSA',
      typ: 'receipt+jwt',
      kid: published!.kid,
    });
  });

  it('stays good after its key was rotated, and not after its key was removed', async () => {
    const [older, newer] = [key(), key()];
    const jws = await (await ReceiptSigner.load(older)).sign(CLAIMS);
    const both = await ReceiptSigner.load(`${newer}, ${older}`);
    expect(both.publicKeys).toHaveLength(2);
    await expect(jwtVerify(jws, createLocalJWKSet({ keys: both.publicKeys }))).resolves.toBeDefined();
    expect(decodeProtectedHeader(await both.sign(CLAIMS)).kid).toBe(both.publicKeys[0]!.kid);
    await expect(
      jwtVerify(jws, createLocalJWKSet({ keys: (await ReceiptSigner.load(newer)).publicKeys })),
    ).rejects.toThrow();
  });

  it.each([
    ['nothing', ''],
    ['a short key', Buffer.alloc(31).toString('base64')],
    ['a long key', Buffer.alloc(33).toString('base64')],
    ['a missing one', `${key()},`],
    ['no base64', '!'.repeat(44)],
  ])('has no keys out of %s', (_what, text) => {
    expect(() => parseSigningKeys(text)).toThrow('each signing key must be the base64 of 32 bytes');
  });

  it('has no key twice, and never tells one', () => {
    const same = key();
    expect(() => parseSigningKeys(`${same},${same}`)).toThrow(/^the signing keys must differ$/);
  });
});
