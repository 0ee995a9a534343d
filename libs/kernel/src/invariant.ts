/** Throws if one of our own assumptions is broken. It is never used to validate what a client sent. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`invariant broken: ${message}`);
}
