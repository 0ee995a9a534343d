/**
 * `node .config/jest.mjs unit|int|e2e`: runs jest with one of the configurations beside this file; further arguments go to jest. The
 * end-to-end suite runs in both modes at the same time, or in the one that MARKET_MODE names. Much of it is waiting, so the whole suite
 * of a mode has two workers, each with a marketplace of its own.
 *
 * With TEST_RERUN a few files that fail are run once more, by themselves: what passes then is named as unsteady, what fails again fails.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

/** More files than this do not fail because a machine was busy. */
const MOST_RERUN = 8;

const [kind, ...args] = process.argv.slice(2);
const { MARKET_MODE, TEST_RERUN } = process.env;
const options =
  kind === 'unit'
    ? ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning']
    : ['--conditions=@market/source', '--import', './.config/typescript.mjs', '--enable-source-maps'];

/** The name of the lock by which the suites that take the whole machine take turns. */
const E2E_TURN = `market-e2e-${process.pid}`;

const results = mkdtempSync(join(tmpdir(), 'market-jest-'));

/** @returns jest's exit code, and the files that failed. */
async function jest(mode, jestArgs) {
  const file = join(results, `${mode ?? kind}.json`);
  const [code] = await once(
    spawn(
      process.execPath,
      [
        ...[...options, 'node_modules/jest/bin/jest.js', '-c', `.config/jest.${kind}.mjs`],
        ...(TEST_RERUN ? ['--json', `--outputFile=${file}`] : []),
        ...jestArgs,
      ],
      { env: { ...process.env, E2E_TURN, ...(mode && { MARKET_MODE: mode }) }, stdio: 'inherit' },
    ),
    'exit',
  );
  const ran = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).testResults : [];
  return { mode, code: code ?? 1, failed: ran.filter(({ status }) => status === 'failed').map(({ name }) => name) };
}

if (kind === 'e2e' && args.length === 0) args.push('--maxWorkers=2');

const modes = kind === 'e2e' && !MARKET_MODE ? ['standalone', 'distributed'] : [MARKET_MODE];
for (const { mode, code, failed } of await Promise.all(modes.map((mode) => jest(mode, args)))) {
  const isRerun = code !== 0 && failed.length > 0 && failed.length <= MOST_RERUN;
  const again = isRerun ? await jest(mode, ['--runInBand', '--runTestsByPath', ...failed]) : { code };
  if (isRerun && again.code === 0)
    for (const name of failed)
      console.log(
        `UNSTEADY ${[mode, relative('.', name)].filter(Boolean).join(' ')}: failed, and passed when run alone`,
      );
  process.exitCode ||= again.code;
}
