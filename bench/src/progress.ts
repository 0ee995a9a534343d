const EVERY_MS = 5_000;

/**
 * Prints the progress of a preparation when it begins, every few seconds, and when it ends. It prints to stderr, because
 * stdout is for results only.
 * @returns a function that takes the number of items that are done.
 */
export function progress(what: string, total: number): (done: number) => void {
  const startedAt = performance.now();
  let saidAt = startedAt;
  process.stderr.write(`${what} (${total}) …\n`);
  return (done) => {
    const now = performance.now();
    if (done < total && now - saidAt < EVERY_MS) return;
    saidAt = now;
    process.stderr.write(`  ${done} of ${total} after ${((now - startedAt) / 1_000).toFixed(0)} s\n`);
  };
}
