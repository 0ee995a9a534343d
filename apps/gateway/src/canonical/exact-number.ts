/**
 * Whether a JSON number literal and the shortest spelling of its IEEE double (ECMAScript, RFC 8785) name the same decimal.
 * `1.0`, `1e2` and `0.1` do; `9007199254740993`, `1e400` and `1e-400` do not. The sign of zero is not told apart, as RFC 8785 drops it.
 */
export function isExactDouble(literal: string): boolean {
  const value = Number(literal);
  if (!Number.isFinite(value)) return false;
  const given = decimalOf(literal);
  const kept = decimalOf(String(value));
  return given.digits === kept.digits && (given.digits === '' || given.exponent === kept.exponent);
}

/** The value as digits × 10^exponent, with neither leading nor trailing zeros; zero has no digits. */
function decimalOf(literal: string): { digits: string; exponent: number } {
  const [mantissa = '', power = '0'] = literal.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.');
  const digits = whole + fraction;
  let first = 0;
  let end = digits.length;
  while (first < end && digits[first] === '0') first++;
  while (end > first && digits[end - 1] === '0') end--;
  return { digits: digits.slice(first, end), exponent: Number(power) - fraction.length + (digits.length - end) };
}
