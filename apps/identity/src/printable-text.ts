/**
 * Whether people can read the text as a name: 1 to `maxLength` code points, not only blanks, without control
 * characters and broken surrogates.
 */
export function isPrintable(text: string, maxLength: number): boolean {
  if (text.length > 2 * maxLength || [...text].length > maxLength) return false;
  return text.trim() !== '' && !/[\p{Cc}\p{Cs}]/u.test(text);
}
