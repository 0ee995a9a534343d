import { bytesToNumberLE, hexToBytes, numberToBytesLE } from '@noble/curves/abstract/utils';
import { ED25519_TORSION_SUBGROUP, ed25519 } from '@noble/curves/ed25519';

/** The field prime and the order of the group (RFC 8032 §5.1). */
export const P = ed25519.CURVE.Fp.ORDER;
export const L = ed25519.CURVE.n;

/** 32 bytes: y little-endian, the parity of x in the top bit. */
export const encodeY = (y: bigint, sign: boolean): Uint8Array => numberToBytesLE(sign ? y | (1n << 255n) : y, 32);

/**
 * All byte strings that a lenient decoder may accept as a point of small order: canonical or not, with either sign of
 * x.
 */
export function smallOrderEncodings(): Uint8Array[] {
  const ys = new Set(ED25519_TORSION_SUBGROUP.map((hex) => bytesToNumberLE(hexToBytes(hex)) & (2n ** 255n - 1n)));
  return [...ys]
    .flatMap((y) => [y, y + P].filter((spelled) => spelled < 2n ** 255n))
    .flatMap((y) => [encodeY(y, false), encodeY(y, true)]);
}

/** Adds the group order to S of a signature. The verification equation still holds. */
export function plusGroupOrder(signature: Uint8Array): Uint8Array {
  return Buffer.concat([signature.subarray(0, 32), numberToBytesLE(bytesToNumberLE(signature.subarray(32)) + L, 32)]);
}
