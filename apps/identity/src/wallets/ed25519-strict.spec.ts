import { countOf } from '@market/test-servers/threats';
import { createHash, randomBytes } from 'node:crypto';
import { bytesToNumberLE, numberToBytesLE } from '@noble/curves/abstract/utils';
import { ED25519_TORSION_SUBGROUP, ed25519 } from '@noble/curves/ed25519';
import fc from 'fast-check';
import nacl from 'tweetnacl';
import { L, P, encodeY, plusGroupOrder, smallOrderEncodings } from '../../test/support/edwards25519.js';
import { newEd25519Wallet } from '../../test/support/ed25519-wallet.js';
import { isEd25519PublicKey, verifyEd25519 } from './ed25519-strict.js';

const message = Buffer.from('market.example wants you to sign in');
const weakPoints = smallOrderEncodings();
/** The eight points whose order divides the cofactor, beginning with the neutral one. */
const torsion = ED25519_TORSION_SUBGROUP.map((hex) => ed25519.ExtendedPoint.fromHex(hex));

/** Signatures under public keys of small order, made without any private key. */
function forgeries(): { publicKey: Uint8Array; signature: Uint8Array }[] {
  const multiplesOfOrder = Array.from({ length: 8 }, (_, factor) => numberToBytesLE(BigInt(factor) * L, 32));
  return weakPoints.flatMap((publicKey) =>
    weakPoints.flatMap((r) => multiplesOfOrder.map((s) => ({ publicKey, signature: Buffer.concat([r, s]) }))),
  );
}

describe('verifyEd25519', () => {
  it('accepts what a wallet signs, as tweetnacl does', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), fc.uint8Array({ maxLength: 300 }), (seed, text) => {
        const pair = nacl.sign.keyPair.fromSeed(seed);
        const signature = nacl.sign.detached(text, pair.secretKey);
        expect(nacl.sign.detached.verify(text, signature, pair.publicKey)).toBe(true);
        expect(verifyEd25519(pair.publicKey, text, signature)).toBe(true);
      }),
      { numRuns: 5 },
    );
    for (let round = 0; round < 50; round += 1) {
      const wallet = newEd25519Wallet();
      const text = randomBytes(round);
      expect(verifyEd25519(wallet.publicKey, text, wallet.sign(text))).toBe(true);
    }
  });

  it('refuses every forgery under a key of small order, of which tweetnacl accepts some', () => {
    const all = forgeries();
    expect(all.length).toBeGreaterThanOrEqual(1000);
    expect(all.filter(({ publicKey, signature }) => verifyEd25519(publicKey, message, signature))).toEqual([]);
    const withZeroS = all.filter(({ signature }) => signature.subarray(32).every((byte) => byte === 0));
    expect(withZeroS.some(({ publicKey, signature }) => nacl.sign.detached.verify(message, signature, publicKey))).toBe(
      true,
    );
  });

  it('refuses S + L, which tweetnacl accepts', () => {
    const wallet = newEd25519Wallet();
    const malleated = (text: Uint8Array): Uint8Array => plusGroupOrder(wallet.sign(text));
    expect(nacl.sign.detached.verify(message, malleated(message), wallet.publicKey)).toBe(true);
    for (let round = 0; round < countOf('malleable'); round += 1) {
      const text = randomBytes(32);
      expect(verifyEd25519(wallet.publicKey, text, malleated(text))).toBe(false);
    }
  });

  it('refuses an honest key with an R of small order and an R beyond the field prime', () => {
    const { publicKey, sign } = newEd25519Wallet();
    const s = sign(message).subarray(32);
    for (const r of [...weakPoints, encodeY(P + 3n, false), encodeY(2n ** 255n - 1n, true)]) {
      expect(verifyEd25519(publicKey, message, Buffer.concat([r, s]))).toBe(false);
    }
  });

  it('refuses a key of mixed order, whose holder can sign for it', () => {
    const { scalar, point } = ed25519.utils.getExtendedPublicKey(randomBytes(32));
    const publicKey = point.add(torsion[4]!).toRawBytes();
    // The component of order two has no effect if the challenge k is even, which is so for half of the nonces.
    const signatures = Array.from({ length: 64 }, (_, nonce) => {
      const r = ed25519.ExtendedPoint.BASE.multiply(BigInt(nonce) + 1n).toRawBytes();
      const k = bytesToNumberLE(createHash('sha512').update(r).update(publicKey).update(message).digest()) % L;
      return Buffer.concat([r, numberToBytesLE((BigInt(nonce) + 1n + k * scalar) % L, 32)]);
    });
    expect(signatures.some((signature) => nacl.sign.detached.verify(message, signature, publicKey))).toBe(true);
    expect(signatures.some((signature) => verifyEd25519(publicKey, message, signature))).toBe(false);
  });

  it('refuses a flipped bit in any byte of key, message or signature', () => {
    const flips = (bytes: Uint8Array): Uint8Array[] =>
      Array.from(bytes, (_, index) => {
        const copy = Uint8Array.from(bytes);
        copy[index]! ^= 1 << (index & 7);
        return copy;
      });
    for (let n = 0; n < countOf('flips'); n += 1) {
      const { publicKey, sign } = newEd25519Wallet();
      const signature = sign(message);
      expect(flips(signature).some((flipped) => verifyEd25519(publicKey, message, flipped))).toBe(false);
      expect(flips(publicKey).some((flipped) => verifyEd25519(flipped, message, signature))).toBe(false);
      expect(flips(message).some((flipped) => verifyEd25519(publicKey, flipped, signature))).toBe(false);
    }
  });

  it('answers false to arbitrary bytes of arbitrary length and never throws', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 130 }),
      fc.uint8Array({ minLength: 32, maxLength: 32 }),
      fc.uint8Array({ minLength: 64, maxLength: 64 }),
    );
    fc.assert(
      fc.property(bytes, bytes, bytes, (publicKey, text, signature) => {
        expect(verifyEd25519(publicKey, text, signature)).toBe(false);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('isEd25519PublicKey', () => {
  it('accepts the key of every wallet', () => {
    for (let round = 0; round < 200; round += 1) expect(isEd25519PublicKey(newEd25519Wallet().publicKey)).toBe(true);
  });

  it('refuses every spelling of a point of small order', () => {
    expect(weakPoints).toHaveLength(14);
    expect(weakPoints.filter(isEd25519PublicKey)).toEqual([]);
  });

  it('refuses a key to which a point of small order was added', () => {
    for (let round = 0; round < 20; round += 1) {
      const point = ed25519.ExtendedPoint.fromHex(newEd25519Wallet().publicKey);
      expect(torsion.map((weak) => isEd25519PublicKey(point.add(weak).toRawBytes()))).toEqual([
        true,
        ...Array<boolean>(7).fill(false),
      ]);
    }
  });

  it('refuses a y at or beyond the field prime, and any other length than 32 bytes', () => {
    for (let y = P; y < 2n ** 255n; y++) expect(isEd25519PublicKey(encodeY(y, false))).toBe(false);
    for (const length of [0, 31, 33, 64]) expect(isEd25519PublicKey(new Uint8Array(length).fill(7))).toBe(false);
  });
});
