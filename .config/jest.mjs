/**
 * `node .config/jest.mjs unit|int|e2e`: runs jest with one of the configurations beside this file; further arguments go to jest. Much of
 * the end-to-end suite is waiting, so two of it run side by side: the two modes, or the two halves of the mode that MARKET_MODE names,
 * each with a marketplace of its own.
 */
import { spawn } from 'node:child_process';

const [kind, ...args] = process.argv.slice(2);
const { MARKET_MODE } = process.env;
const options =
  kind === 'unit'
    ? ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning']
    : ['--conditions=@market/source', '--import', './.config/typescript.mjs', '--enable-source-maps'];

/** The name of the lock by which the suites that take the whole machine take turns. */
const E2E_TURN = `market-e2e-${process.pid}`;

const run = (mode, ...more) =>
  spawn(
    process.execPath,
    [...options, 'node_modules/jest/bin/jest.js', '-c', `.config/jest.${kind}.mjs`, ...args, ...more],
    {
      env: { ...process.env, E2E_TURN, ...(mode && { MARKET_MODE: mode }) },
      stdio: 'inherit',
    },
  ).once('exit', (code) => (process.exitCode ||= code ?? 1));

if (kind === 'e2e' && !MARKET_MODE) for (const mode of ['standalone', 'distributed']) run(mode);
else if (kind === 'e2e' && args.length === 0) for (const half of ['1/2', '2/2']) run(MARKET_MODE, `--shard=${half}`);
else run(MARKET_MODE);
