import { spawn } from 'node:child_process';

/** The end-to-end suite in both modes side by side, or in the one that MARKET_MODE names: much of it is waiting. Arguments go to jest. */
const modes = process.env.MARKET_MODE ? [process.env.MARKET_MODE] : ['standalone', 'distributed'];
const jest = [
  '--disable-warning=ExperimentalWarning',
  '--experimental-vm-modules',
  'node_modules/jest/bin/jest.js',
  '-c',
  '.config/jest.e2e.mjs',
  ...process.argv.slice(2),
];

const exitCodes = await Promise.all(
  modes.map(
    (mode) =>
      new Promise((resolve) =>
        spawn(process.execPath, jest, { env: { ...process.env, MARKET_MODE: mode }, stdio: 'inherit' }).once(
          'exit',
          (code) => resolve(code ?? 1),
        ),
      ),
  ),
);
process.exitCode = Math.max(...exitCodes);
