import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const PACKAGE_ROOT = fileURLToPath(new URL('..', import.meta.url));

/**
 * Runs a source file in a process of its own, because jest loads its global set-up without the export conditions and
 * transforms the sources need. The helper says one line when it stands, and ends when its standard input closes: nothing
 * it started outlives jest, however jest ends.
 *
 * @returns what it said, and how to end it.
 */
export async function startHelper(file, args = []) {
  const helper = spawn(
    process.execPath,
    ['--conditions=@market/source', '--import', '@swc-node/register/esm-register', file, ...args],
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
