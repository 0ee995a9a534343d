/**
 * An amount of money as digits and a scale. On the wire it is a JSON number or a decimal string; no arithmetic is done
 * on floats.
 */
export type DecimalLike = string | number;

interface Decimal {
  digits: bigint;
  /** The number of digits after the decimal point. */
  scale: number;
}

const DECIMAL = /^([+-]?)(\d+)(?:\.(\d+))?(?:e([+-]?\d{1,3}))?$/i;

/** Returns -1, 0 or 1, exact for any number of digits. @throws RangeError for what is not a finite decimal. */
export function compareDecimals(left: DecimalLike, right: DecimalLike): -1 | 0 | 1 {
  const [a, b] = alignScales(parseDecimal(left), parseDecimal(right));
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The exact product, as a decimal. */
export function multiplyDecimals(left: DecimalLike, right: DecimalLike): string {
  const [a, b] = [parseDecimal(left), parseDecimal(right)];
  return formatPlain({ digits: a.digits * b.digits, scale: a.scale + b.scale });
}

/** The exact sum, as a decimal. */
export function addDecimals(left: DecimalLike, right: DecimalLike): string {
  const [a, b] = [parseDecimal(left), parseDecimal(right)];
  const [one, other] = alignScales(a, b);
  return formatPlain({ digits: one + other, scale: Math.max(a.scale, b.scale) });
}

/**
 * An amount in its smallest unit: `0.25` with 6 decimals → `250000n`.
 * @throws RangeError for what the unit cannot express.
 */
export function toBaseUnits(amount: DecimalLike, decimals: number): bigint {
  const { digits, scale } = parseDecimal(amount);
  if (scale <= decimals) return digits * 10n ** BigInt(decimals - scale);
  const surplus = 10n ** BigInt(scale - decimals);
  if (digits % surplus !== 0n) throw new RangeError(`"${amount}" has more than ${decimals} decimals.`);
  return digits / surplus;
}

/** `250000n` with 6 decimals → `0.250000`. */
export const fromBaseUnits = (baseUnits: bigint, decimals: number): string =>
  formatPlain({ digits: baseUnits, scale: decimals });

/** `0.05` → `$0.05`, `1234.5` → `$1,234.50`: at least two digits after the point, more only if they are not zero. */
export function formatUsd(amount: DecimalLike): string {
  return formatDollars(parseDecimal(amount));
}

/** An `amount_cents` of the wire: `5` → `$0.05`, `0.25` → `$0.0025`. */
export function formatCents(cents: DecimalLike): string {
  const { digits, scale } = parseDecimal(cents);
  return formatDollars({ digits, scale: scale + 2 });
}

function formatDollars({ digits, scale }: Decimal): string {
  const sign = digits < 0n ? '-' : '';
  const padded = (digits < 0n ? -digits : digits).toString().padStart(scale + 1, '0');
  const whole = padded.slice(0, padded.length - scale).replace(/\B(?=(\d{3})+$)/g, ',');
  const fraction = padded.slice(padded.length - scale).replace(/0+$/, '');
  return `${sign}$${whole}.${fraction.padEnd(2, '0')}`;
}

function parseDecimal(value: DecimalLike): Decimal {
  // The shortest text of a number is the decimal that the JSON contained, for every amount that the service can send.
  const match = DECIMAL.exec(String(value).trim());
  if (!match) throw new RangeError(`"${value}" is not a decimal amount.`);
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const scale = fraction.length - Number(exponent);
  const digits = BigInt(sign + whole + fraction);
  return scale >= 0 ? { digits, scale } : { digits: digits * 10n ** BigInt(-scale), scale: 0 };
}

function alignScales(a: Decimal, b: Decimal): [bigint, bigint] {
  const scale = Math.max(a.scale, b.scale);
  return [atScale(a, scale), atScale(b, scale)];
}

const atScale = ({ digits, scale }: Decimal, wanted: number): bigint => digits * 10n ** BigInt(wanted - scale);

function formatPlain({ digits, scale }: Decimal): string {
  const sign = digits < 0n ? '-' : '';
  const padded = (digits < 0n ? -digits : digits).toString().padStart(scale + 1, '0');
  return scale === 0 ? sign + padded : `${sign}${padded.slice(0, -scale)}.${padded.slice(-scale)}`;
}
