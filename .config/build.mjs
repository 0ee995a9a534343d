/**
 * Compiles src/ of the package in the working directory to dist/, a module for a module, with .swcrc. A module that did not change is
 * not written again, since `npm run dev` starts the marketplace for every one that is.
 */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformFile } from '@swc/core';

const configFile = fileURLToPath(new URL('../.swcrc', import.meta.url));
const names = (await readdir('src', { recursive: true })).filter(
  (name) => name.endsWith('.ts') && !name.endsWith('spec.ts'),
);

const stale = new Set(await readdir('dist', { recursive: true }).catch(() => []));
const write = async (target, text) => {
  stale.delete(relative('dist', target));
  if ((await readFile(target, 'utf8').catch(() => null)) !== text) await writeFile(target, text);
};

await Promise.all(
  names.map(async (name) => {
    const [source, target] = [join('src', name), join('dist', name.replace(/\.ts$/, '.js'))];
    const { code, map } = await transformFile(source, {
      configFile,
      sourceFileName: relative(dirname(target), source),
    });
    await mkdir(dirname(target), { recursive: true });
    await write(target, `${code}\n//# sourceMappingURL=${basename(target)}.map`);
    await write(`${target}.map`, map);
  }),
);
await Promise.all([...stale].filter((name) => /\.js(\.map)?$/.test(name)).map((name) => rm(join('dist', name))));
