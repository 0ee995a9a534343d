/** A limit for what hangs, not for what is slow: a busy machine starts a process in ten seconds. Larger runs have larger counts. */
export const TEST_TIMEOUT_MS = [undefined, 'ci'].includes(process.env.TEST_SIZE) ? 120_000 : 4 * 3_600_000;
