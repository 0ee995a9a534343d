import { createPublicKey, verify } from 'node:crypto';

/** The field prime, the group order and the curve constant of edwards25519 (RFC 8032 §5.1). */
const P = 2n ** 255n - 19n;
const L = 2n ** 252n + 27742317777372353535851937790883648493n;
const D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;

/** Curve points of small order have one of these five y; a signature under such a key is forged without any secret. */
const ORDER_EIGHT_Y = 2707385501144840649318225287225658788936804267575313519463743609750303402022n;
const SMALL_ORDER_Y: ReadonlySet<bigint> = new Set([0n, 1n, P - 1n, ORDER_EIGHT_Y, P - ORDER_EIGHT_Y]);

const POINT_BYTES = 32;
const SIGNATURE_BYTES = 64;

/**
 * Verifies an ed25519 signature the strict way: S below the group order, A and R canonical and not of small order,
 * then the cofactorless equation by OpenSSL. Any malformed input is `false`; nothing throws.
 *
 * The pre-checks are ours because OpenSSL (like tweetnacl) accepts keys of small order, under which anybody can sign.
 */
export function verifyEd25519(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (signature.length !== SIGNATURE_BYTES || littleEndian(signature.subarray(POINT_BYTES)) >= L) return false;
  if (!isCanonicalLargeOrder(publicKey) || !isCanonicalLargeOrder(signature.subarray(0, POINT_BYTES))) return false;
  const x = Buffer.from(publicKey).toString('base64url');
  return verify(null, message, createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' }), signature);
}

/** Whether 32 bytes are a key somebody can hold: a canonical point on the curve, not of small order. */
export function isEd25519PublicKey(bytes: Uint8Array): boolean {
  return isCanonicalLargeOrder(bytes) && isOnCurve(yOf(bytes));
}

function isCanonicalLargeOrder(point: Uint8Array): boolean {
  if (point.length !== POINT_BYTES) return false;
  const y = yOf(point);
  return y < P && !SMALL_ORDER_Y.has(y);
}

/** x² = (y² − 1) / (dy² + 1) has a root exactly when the product of both sides of the fraction is a square (Euler). */
function isOnCurve(y: bigint): boolean {
  const square = (y * y) % P;
  const product = ((square - 1n) * (D * square + 1n)) % P;
  return power(product, (P - 1n) / 2n) === 1n;
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  for (let square = base, rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % P;
    square = (square * square) % P;
  }
  return result;
}

/** The top bit of an encoded point is the sign of x. */
const yOf = (point: Uint8Array): bigint => littleEndian(point) & (2n ** 255n - 1n);

const littleEndian = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`);
