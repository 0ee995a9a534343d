/** Stops on a broken assumption of our own; never used for what a client sent. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`invariant broken: ${message}`);
}
