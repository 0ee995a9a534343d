import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const npm = (cwd, ...args) => execFileSync('npm', args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] });

/** Creates the tarballs of the SDK and the command line in a directory. @returns their paths. */
export function pack(target) {
  const directory = resolve(target);
  npm(PROJECT, 'pack', '--silent', '--workspace', 'libs/sdk', '--pack-destination', directory);
  const sdk = join(directory, 'market-sdk-1.0.0.tgz');
  // The command line's tarball bundles the SDK, and npm takes bundled packages from the package's own node_modules.
  const stage = mkdtempSync(join(tmpdir(), 'market-cli-'));
  for (const part of ['dist', 'README.md'])
    cpSync(join(PROJECT, 'libs/cli', part), join(stage, part), { recursive: true });
  const manifest = JSON.parse(readFileSync(join(PROJECT, 'libs/cli/package.json'), 'utf8'));
  writeFileSync(join(stage, 'package.json'), JSON.stringify({ ...manifest, bundleDependencies: ['@market/sdk'] }));
  npm(stage, 'install', '--silent', '--no-save', '--omit=dev', '--prefer-offline', sdk);
  npm(stage, 'pack', '--silent', '--pack-destination', directory);
  rmSync(stage, { recursive: true });
  return { sdk, cli: join(directory, 'market-cli-1.0.0.tgz') };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [directory = '.'] = process.argv.slice(2);
  console.log(Object.values(pack(directory)).join('\n'));
}
