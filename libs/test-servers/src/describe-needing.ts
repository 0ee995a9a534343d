import { findProgram } from './own-process.js';

/** Set where a missing server must fail the run, as it does on CI. */
const SERVERS_REQUIRED = process.env.TEST_SERVERS === 'required';

/**
 * `describe` for tests that start a program which npm does not bring. Where this machine lacks it, they are skipped by a name that
 * says what is missing and how to get it; the reporter in `.config/skipped-tests.mjs` repeats it at the end of a run.
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
