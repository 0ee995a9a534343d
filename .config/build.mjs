/** Compiles each module in src/ of the package in the working directory to dist/, with .swcrc. */
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformFile } from '@swc/core';

const configFile = fileURLToPath(new URL('../.swcrc', import.meta.url));

/** Whether a file of src/ is compiled to dist/. */
export const isModule = (name) => name.endsWith('.ts') && !name.endsWith('spec.ts');

/** Compiles the module `name` of src/ in the directory of a package. @returns its path below dist/. */
export async function compile(name, directory = '.') {
  const source = join(directory, 'src', name);
  const output = name.replace(/\.ts$/, '.js');
  const target = join(directory, 'dist', output);
  const sourceFileName = relative(dirname(target), source);
  const { code, map } = await transformFile(source, { configFile, sourceFileName });
  await mkdir(dirname(target), { recursive: true });
  await writeFile(target, `${code}\n//# sourceMappingURL=${basename(target)}.map`);
  await writeFile(`${target}.map`, map);
  return output;
}

if (resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const names = (await readdir('src', { recursive: true })).filter(isModule);
  const made = new Set(
    (await Promise.all(names.map((name) => compile(name)))).flatMap((name) => [name, `${name}.map`]),
  );
  const stale = (await readdir('dist', { recursive: true })).filter(
    (name) => /\.js(\.map)?$/.test(name) && !made.has(name),
  );
  await Promise.all(stale.map((name) => rm(join('dist', name))));
}
