import { eventually, freePort, startOwnProcess, temporaryDirectory, type OwnProcess } from '@market/testing';
import { cp, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const REPOSITORY = fileURLToPath(new URL('../../../..', import.meta.url));
const START_TIMEOUT_MS = 240_000;
const CHANGE_TIMEOUT_MS = 90_000;

/** Copies the tree and its build. npm packages are links to the checkout; workspace packages are copied. */
async function copyTree(to: string): Promise<void> {
  const isCopied = (path: string): boolean => !['node_modules', '.git', '.data'].includes(basename(path));
  await cp(REPOSITORY, to, { recursive: true, filter: isCopied });
  await mkdir(join(to, 'node_modules'));
  for (const name of await readdir(join(REPOSITORY, 'node_modules')))
    if (name !== '@market' && name !== '.cache')
      await symlink(join(REPOSITORY, 'node_modules', name), join(to, 'node_modules', name));
  const workspace = join('node_modules', '@market');
  await cp(join(REPOSITORY, workspace), join(to, workspace), { recursive: true, verbatimSymlinks: true });
}

describe('npm run dev', () => {
  let copy: string;
  let dev: OwnProcess;
  let url: string;
  const version = async (): Promise<string> => {
    const { data } = (await (await fetch(url)).json()) as { data: { version: string } };
    return data.version;
  };

  beforeAll(async () => {
    copy = await temporaryDirectory('dev');
    await copyTree(copy);
    const { PATH, HOME, TMPDIR } = process.env;
    const [PORT, INTERNAL_PORT] = [String(await freePort()), String(await freePort())];
    url = `http://127.0.0.1:${PORT}/api/v1/health`;
    dev = startOwnProcess('npm', ['run', '-s', 'dev'], { cwd: copy, env: { PATH, HOME, TMPDIR, PORT, INTERNAL_PORT } });
    const ended = dev.ended.then(() => {
      throw new Error(`npm run dev ended and wrote:\n${dev.output()}`);
    });
    await Promise.race([eventually(version, { withinMs: START_TIMEOUT_MS, everyMs: 200 }), ended]);
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    await dev?.stop();
    await rm(copy, { recursive: true, force: true, maxRetries: 5 });
  });

  it(
    'answers as a saved source says',
    async () => {
      await writeFile(
        join(copy, 'apps/api-gateway/src/platform/interface-version.ts'),
        "export const INTERFACE_VERSION = 'saved by a test';\n",
      );
      await eventually(async () => expect(await version()).toBe('saved by a test'), { withinMs: CHANGE_TIMEOUT_MS });
    },
    CHANGE_TIMEOUT_MS,
  );

  it(
    'goes on with the last source that compiles',
    async () => {
      const source = join(copy, 'apps/api-gateway/src/platform/interface-version.ts');
      await writeFile(source, 'export const INTERFACE_VERSION = ;\n');
      await eventually(() => expect(dev.output()).toContain('interface-version.ts'), { withinMs: CHANGE_TIMEOUT_MS });
      expect(await version()).toBe('saved by a test');
      await writeFile(source, "export const INTERFACE_VERSION = 'corrected';\n");
      await eventually(async () => expect(await version()).toBe('corrected'), { withinMs: CHANGE_TIMEOUT_MS });
    },
    CHANGE_TIMEOUT_MS,
  );
});
