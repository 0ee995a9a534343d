import { findProgram } from './own-process.js';

/** Debian's packages by their programs. */
const PACKAGES = {
  'nats-server': 'nats-server',
  'redis-server': 'redis-server',
  chromium: 'chromium',
  nginx: 'nginx-light',
  openssl: 'openssl',
  pgbouncer: 'pgbouncer',
};

/** Set if a missing server must fail the run, as on CI. */
const SERVERS_REQUIRED = process.env.TEST_SERVERS === 'required';

/**
 * `describe` for tests that start a program that npm does not install. If this machine lacks it, the tests are skipped.
 * Their name then says what is missing and how to get it; the reporter in `.config/skipped-tests.mjs` repeats this at
 * the end of a run.
 */
export function describeNeeding(program: keyof typeof PACKAGES): typeof describe {
  const missing = SERVERS_REQUIRED ? null : reasonToSkip(program);
  if (missing === null) return describe;
  const skip = (name: unknown, tests: () => void): void => describe.skip(`${String(name)} [${missing}]`, tests);
  return skip as typeof describe;
}

function reasonToSkip(program: keyof typeof PACKAGES): string | null {
  try {
    findProgram(program, PACKAGES[program]);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}
