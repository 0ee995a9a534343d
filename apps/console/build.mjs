/**
 * Builds dist/: index.html, and in assets/ the bundles of the sources in src/ that it refers to, named by the hash of
 * their content.
 */
import { build } from 'esbuild';
import { readFile, rm, writeFile } from 'node:fs/promises';

/** @returns for each source, its `address` and those of the chunks that it imports. */
async function bundle(entryPoints, define) {
  const { metafile } = await build({
    entryPoints,
    define,
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    loader: { '.svg': 'copy' },
    // Reads the SDK from its sources, so that no other package has to be built first.
    conditions: ['@market/source'],
    outdir: 'dist/assets',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    metafile: true,
    logLevel: 'warning',
  });
  const addressOf = (path) => path.replace('dist', '');
  return entryPoints.map((source) => {
    const [path, { imports }] = Object.entries(metafile.outputs).find(
      // esbuild sets no entryPoint for files that it only copies.
      ([, { entryPoint, inputs }]) => (entryPoint ?? Object.keys(inputs)[0]) === source,
    );
    const chunks = imports.filter(({ kind }) => kind === 'import-statement').map((chunk) => addressOf(chunk.path));
    return { source, address: addressOf(path), chunks };
  });
}

await rm('dist', { recursive: true, force: true });
let page = await readFile('index.html', 'utf8');
const sources = Array.from(page.matchAll(/"\/(src\/[^"]+)"/g), ([, source]) => source);
const [worker] = await bundle(['src/sandbox/proof-of-work.worker.ts']);
for (const { source, address, chunks } of await bundle(sources, {
  PROOF_OF_WORK_WORKER: JSON.stringify(worker.address),
})) {
  const preloads = chunks.map((chunk) => `  <link rel="modulepreload" href="${chunk}" />\n  `);
  page = page.replace(`/${source}`, address).replace('</head>', `${preloads.join('')}</head>`);
}
await writeFile('dist/index.html', page);
