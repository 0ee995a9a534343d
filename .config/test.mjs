/**
 * `npm test`: build, lint, types, unit, integration and the end-to-end suite in standalone, without their adversarial and
 * long files; tests that need a server which this machine lacks are skipped. Both are named at the end.
 * `npm run test:all`: all of them, end to end also over NATS and Redis; a missing server fails.
 * `npm test -- <name>`: only the test files whose path contains the name.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { LEFT_TO_TEST_ALL } from './left-to-test-all.mjs';
import { SKIPPED_TESTS } from './skipped-tests.mjs';

const isAll = process.argv[2] === '--all';
const names = process.argv.slice(isAll ? 3 : 2);
const env = {
  ...process.env,
  TURBO_TELEMETRY_DISABLED: '1',
  npm_config_loglevel: 'silent',
  ...(isAll && { TEST_SERVERS: 'required' }),
  ...(!isAll && { MARKET_MODE: process.env.MARKET_MODE ?? 'standalone' }),
  ...(!isAll && names.length === 0 && { LEAVE_TO_TEST_ALL: 'yes' }),
};

function run(program, args, options = {}) {
  const { status, stdout } = spawnSync(program, args, { env, stdio: 'inherit', encoding: 'utf8', ...options });
  if (status !== 0) process.exit(status ?? 1);
  return stdout;
}

rmSync(SKIPPED_TESTS, { force: true });
if (names.length > 0) {
  const test = (kind, args, options) => run('npm', ['run', `test:${kind}`, '--', ...args], options);
  const listTests = (kind) => test(kind, ['--listTests', ...names], { stdio: ['ignore', 'pipe', 'inherit'] });
  const kinds = ['unit', 'int', 'e2e'].filter((kind) => listTests(kind).trim() !== '');
  if (kinds.length === 0) throw new Error(`no test file has ${names.join(' or ')} in its path`);
  if (kinds.includes('e2e')) run('npm', ['run', 'build']);
  for (const kind of kinds) test(kind, names);
} else {
  run('npm', ['run', 'build']);
  const tasks = ['lint', 'typecheck', 'test:unit', 'test:int'];
  // One after the other: each takes every core by itself, and tests beside the linter only fail more often.
  run('npx', ['turbo', 'run', ...tasks, '--concurrency=1', '--output-logs=new-only', '--log-prefix=none']);
  run('npm', ['run', 'test:e2e']);
}

const skipped = existsSync(SKIPPED_TESTS) ? readFileSync(SKIPPED_TESTS, 'utf8') : '';
if (skipped !== '')
  console.log(`\nSkipped, because this machine lacks a server (npm run test:all fails instead):\n${skipped}`);
if (!isAll && names.length === 0)
  console.log(`
Left to npm run test:all: the distributed mode; ${LEFT_TO_TEST_ALL.e2e.join(', ')} of the end-to-end tests;
${LEFT_TO_TEST_ALL.int.join(', ')} of the integration tests`);
