import { bytesToNumberLE } from '@noble/curves/abstract/utils';
import { ed25519 } from '@noble/curves/ed25519';
import nacl from 'tweetnacl';

const POINT_BYTES = 32;

/**
 * Verifies an ed25519 signature (RFC 8032 §5.1.7) strictly: A and R are canonical encodings, A is of prime order and R
 * not of small order, S is below the group order, and the cofactorless equation holds. Malformed input of any length
 * returns `false`. It never throws.
 *
 * tweetnacl only checks the equation: it accepts S + L and keys of small order, for which anyone can create signatures.
 */
export function verifyEd25519(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (signature.length !== nacl.sign.signatureLength || !isEd25519PublicKey(publicKey)) return false;
  if (bytesToNumberLE(signature.subarray(POINT_BYTES)) >= ed25519.CURVE.n) return false;
  const r = decodePoint(signature.subarray(0, POINT_BYTES));
  return r !== null && !r.isSmallOrder() && nacl.sign.detached.verify(message, signature, publicKey);
}

/** Whether the bytes are a possible public key of a wallet: the canonical encoding of a point of prime order. */
export function isEd25519PublicKey(bytes: Uint8Array): boolean {
  const point = decodePoint(bytes);
  return point !== null && !point.isSmallOrder() && point.isTorsionFree();
}

/** Returns null unless the bytes are the canonical encoding of a point on the curve (RFC 8032 §5.1.3). */
function decodePoint(bytes: Uint8Array) {
  try {
    return ed25519.ExtendedPoint.fromHex(bytes);
  } catch {
    return null;
  }
}
