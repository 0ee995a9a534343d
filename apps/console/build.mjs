/**
 * Builds dist/: index.html, in assets/ the bundles of the sources in src/ that it refers to, named by the hash of their
 * content, and in docs/ a page for each guide.
 */
import { build } from 'esbuild';
import { Marked } from 'marked';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';

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

/** The pages of docs/ that the marketplace serves under /docs/. */
const GUIDES = ['errors', 'paying', 'snippets', 'mcp'];

const anchorOf = (text) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N} -]/gu, '')
    .replaceAll(' ', '-');

const marked = new Marked({
  renderer: {
    heading({ tokens, depth, text }) {
      return `<h${depth} id="${anchorOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
    },
    // Other files of the project are not served, so that a link to one is only its text.
    link({ href, tokens }) {
      const text = this.parser.parseInline(tokens);
      const [, guide, anchor = ''] = /^([a-z-]+)\.md(#.*)?$/.exec(href) ?? [];
      if (GUIDES.includes(guide)) return `<a href="/docs/${guide}${anchor}">${text}</a>`;
      return /^(https?:|#)/.test(href) ? `<a href="${href}">${text}</a>` : text;
    },
  },
});

const [styles] = /<link rel="stylesheet"[^>]*>/.exec(page);
await mkdir('dist/docs');
for (const guide of GUIDES) {
  const text = await readFile(`../../docs/${guide}.md`, 'utf8');
  const [, title] = /^# (.*)$/m.exec(text);
  await writeFile(
    `dist/docs/${guide}.html`,
    `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>${title} · Agent Marketplace</title>
    ${styles}
  </head>
  <body>
    <main class="prose-width">
<p><a href="/docs">Documentation</a>: ${GUIDES.map((name) => `<a href="/docs/${name}">${name}</a>`).join(', ')}</p>
${marked.parse(text.replace(/<!--.*?-->/gs, ''))}    </main>
  </body>
</html>
`,
  );
}
