/**
 * Inside the marketplace, money is an integer number of micros: 1 USD = 1,000,000 micros. No floating-point number
 * takes part in arithmetic. Decimals exist only as text in inputs and outputs.
 */
export type Micros = bigint;

const DECIMAL = /^(\d{1,15})(?:\.(\d{1,18}))?$/;

/**
 * Parses plain decimal text ("12.5", no sign, no exponent) into an integer count of 10^-scale units. Null if it does
 * not fit exactly.
 */
export function parseDecimal(text: string, scale: number): bigint | null {
  const match = DECIMAL.exec(text);
  if (!match) return null;
  const fraction = (match[2] ?? '').replace(/0+$/, '');
  if (fraction.length > scale) return null;
  return BigInt(match[1]! + fraction.padEnd(scale, '0'));
}

/** Formats an integer count of 10^-scale units as plain decimal text, without trailing zeros. */
export function formatDecimal(units: bigint, scale: number): string {
  const sign = units < 0n ? '-' : '';
  const digits = (units < 0n ? -units : units).toString().padStart(scale + 1, '0');
  const whole = digits.slice(0, digits.length - scale);
  const fraction = digits.slice(digits.length - scale).replace(/0+$/, '');
  return sign + whole + (fraction ? `.${fraction}` : '');
}

/**
 * Converts a JSON number of US dollars to micros; null if it is negative, not finite or finer than a micro. JSON
 * numbers arrive as doubles, so this reads the shortest decimal text that identifies the double.
 */
export function microsFromUsdNumber(usd: number): Micros | null {
  if (!Number.isFinite(usd) || usd < 0) return null;
  const text = usd.toString();
  const exponent = /^(\d+)(?:\.(\d+))?e-(\d+)$/.exec(text);
  if (!exponent) return parseDecimal(text, 6);
  const digits = exponent[1]! + (exponent[2] ?? '');
  const scale = Number(exponent[3]) + (exponent[2]?.length ?? 0);
  return scale <= 18 ? parseDecimal(`0.${digits.padStart(scale, '0')}`, 6) : null;
}

/**
 * Converts micros to a JSON number of US dollars. It is exact, because every accepted amount is far below 2^53 micros.
 */
export const usdNumber = (micros: Micros): number => Number(formatDecimal(micros, 6));

/** Converts micros to a JSON number of cents with up to four decimals. */
export const centsNumber = (micros: Micros): number => Number(formatDecimal(micros, 4));

export interface FeeSplit {
  gross: Micros;
  fee: Micros;
  net: Micros;
}

/** fee = floor(gross × bps / 10,000); net = gross − fee. The sum is always exact, and rounding favours the seller. */
export function splitFee(gross: Micros, feeBps: number): FeeSplit {
  if (gross < 0n) throw new RangeError('gross is negative');
  if (!Number.isInteger(feeBps) || feeBps < 0 || feeBps > 10_000)
    throw new RangeError('fee basis points must be 0 to 10000');
  const fee = (gross * BigInt(feeBps)) / 10_000n;
  return { gross, fee, net: gross - fee };
}

/** Converts a fee rate to the JSON number of the contract: 500 basis points are 0.05. */
export const feeRateNumber = (feeBps: number): number => Number(formatDecimal(BigInt(feeBps), 4));
