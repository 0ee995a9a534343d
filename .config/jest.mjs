/**
 * `node .config/jest.mjs unit|int|e2e`: runs jest with one of the configurations beside this file; further arguments go to jest. The
 * end-to-end suite runs in both modes side by side, or in the one that MARKET_MODE names, because much of it is waiting.
 */
import { spawn } from 'node:child_process';

const [kind, ...args] = process.argv.slice(2);
const { MARKET_MODE, ...env } = process.env;
const modes = kind === 'e2e' && !MARKET_MODE ? ['standalone', 'distributed'] : [MARKET_MODE];
const options = ['--disable-warning=ExperimentalWarning', '--experimental-vm-modules', 'node_modules/jest/bin/jest.js'];

for (const mode of modes) {
  spawn(process.execPath, [...options, '-c', `.config/jest.${kind}.mjs`, ...args], {
    env: mode ? { ...env, MARKET_MODE: mode } : env,
    stdio: 'inherit',
  }).once('exit', (code) => (process.exitCode ||= code ?? 1));
}
