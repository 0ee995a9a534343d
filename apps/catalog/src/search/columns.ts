type Column = Float64Array | Int32Array | Uint32Array | Uint8Array;

/** A copy with more room. */
export function lengthened<T extends Column>(column: T, length: number): T {
  const longer = new (column.constructor as new (length: number) => T)(length);
  longer.set(column);
  return longer;
}
