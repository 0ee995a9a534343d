import { findProgram } from './own-process.js';

/** Set if a missing server must fail the run, as on CI. */
const SERVERS_REQUIRED = process.env.TEST_SERVERS === 'required';

/**
 * `describe` for tests that start a program that npm does not install. If this machine lacks it, the tests are skipped.
 * Their name then says what is missing and how to get it; the reporter in `.config/skipped-tests.mjs` repeats this at
 * the end of a run.
 */
export function describeNeeding(program: 'nats-server' | 'redis-server' | 'chromium'): typeof describe {
  const missing = SERVERS_REQUIRED ? null : reasonToSkip(program);
  if (missing === null) return describe;
  const skip = (name: unknown, tests: () => void): void => describe.skip(`${String(name)} [${missing}]`, tests);
  return skip as typeof describe;
}

function reasonToSkip(program: string): string | null {
  try {
    findProgram(program, program);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}
