const EVERY_MS = 5_000;

/**
 * Says how far a preparation is, on stderr, so that stdout holds the results alone: at its begin, every few seconds, and at its end.
 * @returns what is to be called with how many are done.
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
