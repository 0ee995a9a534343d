/**
 * edwards25519 by the textbook (RFC 8032 §5.1), written apart from the code under test, so that weak points are
 * derived here from the curve and not from the list they are checked against.
 */
export const P = 2n ** 255n - 19n;
export const L = 2n ** 252n + 27742317777372353535851937790883648493n;

const mod = (value: bigint): bigint => ((value % P) + P) % P;
const D = mod(-121665n * inverse(121666n));
const SQRT_MINUS_ONE = power(2n, (P - 1n) / 4n);

export interface Point {
  x: bigint;
  y: bigint;
}

export const IDENTITY: Point = { x: 0n, y: 1n };

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  for (let square = mod(base), rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = mod(result * square);
    square = mod(square * square);
  }
  return result;
}

function inverse(value: bigint): bigint {
  return power(value, P - 2n);
}

export function add(a: Point, b: Point): Point {
  const product = mod(D * a.x * b.x * a.y * b.y);
  return {
    x: mod((a.x * b.y + b.x * a.y) * inverse(1n + product)),
    y: mod((a.y * b.y + a.x * b.x) * inverse(1n - product)),
  };
}

export function multiply(point: Point, scalar: bigint): Point {
  let result = IDENTITY;
  for (let power2 = point, rest = scalar; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = add(result, power2);
    power2 = add(power2, power2);
  }
  return result;
}

/** A point with this y, or null when there is none. */
export function pointWithY(y: bigint): Point | null {
  const square = mod((y * y - 1n) * inverse(D * y * y + 1n));
  const root = power(square, (P + 3n) / 8n);
  for (const x of [root, mod(root * SQRT_MINUS_ONE)]) if (mod(x * x) === square) return { x, y: mod(y) };
  return null;
}

/** The eight points whose order divides the cofactor. */
export function torsionPoints(): Point[] {
  for (let y = 2n; ; y++) {
    const point = pointWithY(y);
    const torsion = point && multiply(point, L);
    if (torsion && !equal(multiply(torsion, 4n), IDENTITY)) return Array.from({ length: 8 }, (_, index) => multiply(torsion, BigInt(index)));
  }
}

export const equal = (a: Point, b: Point): boolean => a.x === b.x && a.y === b.y;

/** 32 bytes: y little-endian, the parity of x in the top bit. */
export const encode = (point: Point): Uint8Array => encodeY(point.y, point.x % 2n === 1n);

export const encodeY = (y: bigint, sign: boolean): Uint8Array => littleEndian(sign ? y | (1n << 255n) : y);

/** Every byte string a lax decoder may read as a point of small order: canonical or not, with either sign of x. */
export function smallOrderEncodings(): Uint8Array[] {
  const ys = new Set(torsionPoints().map((point) => point.y));
  return [...ys]
    .flatMap((y) => [y, y + P].filter((spelled) => spelled < 2n ** 255n))
    .flatMap((y) => [encodeY(y, false), encodeY(y, true)]);
}

export function littleEndian(value: bigint): Uint8Array {
  return Buffer.from(value.toString(16).padStart(64, '0'), 'hex').reverse();
}

export const fromLittleEndian = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`);
