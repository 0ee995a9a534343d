/** The first and the last byte that are wanted, counted from 0. */
export interface ByteRange {
  first: number;
  last: number;
}

/**
 * Reads a `Range` header (RFC 9110, 14.2) of a file of at least one byte.
 * @returns undefined if the whole file is the answer: to no range, to several, and to one that is malformed or counts
 * something else than bytes. null if the file has none of the bytes.
 */
export function byteRangeOf(header: string | undefined, size: number): ByteRange | null | undefined {
  const [, start, end] = /^bytes=(\d*)-(\d*)$/.exec((header ?? '').replaceAll(' ', '')) ?? [];
  if (start === undefined || end === undefined || (start === '' && end === '')) return undefined;
  if (start === '') return end === '0' ? null : { first: Math.max(0, size - Number(end)), last: size - 1 };
  const [first, last] = [Number(start), end === '' ? size - 1 : Math.min(Number(end), size - 1)];
  if (end !== '' && Number(end) < first) return undefined;
  return first < size ? { first, last } : null;
}
