import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const PACKAGE_ROOT = fileURLToPath(new URL('..', import.meta.url));

/**
 * Runs a source file in a process of its own. The helper prints one line when it is ready, and ends when its standard input closes, so
 * that nothing that it started outlives jest, however jest ends.
 *
 * @returns the line, and a function that ends the helper.
 */
export async function startHelper(file, args = []) {
  const helper = spawn(
    process.execPath,
    ['--conditions=@market/source', '--import', '../../.config/typescript.mjs', file, ...args],
    {
      cwd: PACKAGE_ROOT,
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  const said = await new Promise((resolve, reject) => {
    createInterface({ input: helper.stdout }).once('line', resolve);
    helper.once('error', reject);
    helper.once('exit', (code) => reject(new Error(`${file} did not start (exit ${code}); its reason is above`)));
  });
  const stop = async () => {
    const ended = new Promise((resolve) => helper.once('exit', resolve));
    helper.stdin.end();
    await ended;
  };
  return { said, stop };
}
