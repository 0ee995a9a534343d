/** Compiles src/ of the package in the working directory to dist/, a module for a module, with .swcrc. */
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformFile } from '@swc/core';

const configFile = fileURLToPath(new URL('../.swcrc', import.meta.url));
const names = (await readdir('src', { recursive: true })).filter((name) => name.endsWith('.ts') && !name.endsWith('spec.ts'));

await rm('dist', { recursive: true, force: true });
await Promise.all(
  names.map(async (name) => {
    const [source, target] = [join('src', name), join('dist', name.replace(/\.ts$/, '.js'))];
    const { code, map } = await transformFile(source, { configFile, sourceFileName: relative(dirname(target), source) });
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, `${code}\n//# sourceMappingURL=${basename(target)}.map`);
    await writeFile(`${target}.map`, map);
  }),
);
