/**
 * Whether a JSON number literal and the shortest spelling of its IEEE double (ECMAScript, RFC 8785) name the same decimal.
 * `1.0`, `1e2` and `0.1` do; `9007199254740993`, `1e400` and `1e-400` do not. The sign of zero is not told apart, as RFC 8785 drops it.
 */
export function isExactDouble(literal: string): boolean {
  const value = Number(literal);
  // A double is never ten times off, so equal digits mean equal decimals.
  return Number.isFinite(value) && significantDigits(literal) === significantDigits(String(value));
}

/** The digits of a number without sign, point, exponent and the zeros at either end; none for zero. */
function significantDigits(literal: string): string {
  const [mantissa = ''] = literal.toLowerCase().split('e');
  const digits = mantissa.replace('-', '').replace('.', '');
  let first = 0;
  let end = digits.length;
  while (first < end && digits[first] === '0') first++;
  while (end > first && digits[end - 1] === '0') end--;
  return digits.slice(first, end);
}
