/**
 * Builds dist/: index.html, in assets/ the bundles of the sources in src/ that it refers to, named by the hash of their
 * content, and in docs/ a page for each guide.
 */
import { build } from 'esbuild';
import { Marked } from 'marked';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';

/**
 * @param inject is part of each bundle, so that all it imports is one chunk instead of one for each set of pages.
 * @returns for each source, its `address` and those of the chunks that it imports.
 */
async function bundle(entryPoints, { define, inject } = {}) {
  const { metafile } = await build({
    entryPoints,
    define,
    inject,
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

/** The pages of docs/ that the marketplace serves under /docs/, and their tabs. */
const GUIDES = {
  buying: 'Buying',
  selling: 'Selling',
  paying: 'Paying',
  snippets: 'Code',
  mcp: 'MCP',
  errors: 'Errors',
};
const DOCS = { '/docs': 'Reference' };
for (const [guide, name] of Object.entries(GUIDES)) DOCS[`/docs/${guide}`] = name;

await rm('dist', { recursive: true, force: true });
let page = await readFile('index.html', 'utf8');
const sources = Array.from(page.matchAll(/"\/(src\/[^"]+)"/g), ([, source]) => source);
const [worker] = await bundle(['src/sandbox/proof-of-work.worker.ts']);
for (const { source, address, chunks } of await bundle(sources, {
  define: { PROOF_OF_WORK_WORKER: JSON.stringify(worker.address), DOCS: JSON.stringify(DOCS) },
  inject: ['src/app.tsx'],
})) {
  const preloads = chunks.map((chunk) => `  <link rel="modulepreload" href="${chunk}" />\n  `);
  page = page.replace(`/${source}`, address).replace('</head>', `${preloads.join('')}</head>`);
}

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
    // Wide code scrolls, by the keyboard too.
    code({ text }) {
      const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
      return `<div class="code"><pre tabindex="0"><code>${escaped}</code></pre></div>\n`;
    },
    // Other files of the project are not served, so that a link to one is only its text.
    link({ href, tokens }) {
      const text = this.parser.parseInline(tokens);
      const [, guide, anchor = ''] = /^([a-z-]+)\.md(#.*)?$/.exec(href) ?? [];
      if (guide in GUIDES) return `<a href="/docs/${guide}${anchor}">${text}</a>`;
      return /^(https?:|#)/.test(href) ? `<a href="${href}">${text}</a>` : text;
    },
  },
});

/** Shows the programs to which a guide links with a line of their own, below their names. */
async function withPrograms(text) {
  const links = [...text.matchAll(/^\[([\w.]+)\]\((selling\/[\w.]+)\)$/gm)];
  for (const [line, name, path] of links)
    text = text.replace(line, `### ${name}\n\n\`\`\`\n${await readFile(`../../docs/${path}`, 'utf8')}\`\`\``);
  return text;
}

/** Wide tables scroll, by the keyboard too, and no header is empty. */
const accessible = (html) => html.replaceAll('<table>', '<table tabindex="0">').replaceAll('<th></th>', '<td></td>');

const [head] = /<meta charset.*(?=<script type)/s.exec(page);
const [icon] = /[^"]+\.svg/.exec(page);
const linksTo = (pages, here) =>
  Object.entries(pages)
    .map(([to, name]) => `<a href="${to}"${to === here ? ' aria-current="page"' : ''}>${name}</a>`)
    .join('\n          ');
const topOf = (here) => `<header class="top">
      <div class="top-inner">
        <a href="/" class="brand"><img src="${icon}" alt="" class="mark" /><span>Agent Marketplace</span></a>
        <nav aria-label="Main" class="row">
          ${linksTo({ '/catalog': 'Catalog', '/mine': 'My agents', '/docs': 'Docs' }, here)}
        </nav>
        <span class="who"></span>
      </div>
    </header>`;
// Something is seen before the scripts have come.
await writeFile('dist/index.html', page.replace('<div id="root">', `$&${topOf()}`));
await mkdir('dist/docs');
for (const guide of Object.keys(GUIDES)) {
  const text = await withPrograms(await readFile(`../../docs/${guide}.md`, 'utf8'));
  const [, title] = /^# (.*)$/m.exec(text);
  await writeFile(
    `dist/docs/${guide}.html`,
    `<!doctype html>
<html lang="en">
  <head>
    ${head.replace('<title>', `<title>${title} · `)}</head>
  <body>
    ${topOf('/docs')}
    <main class="prose-width">
      <nav aria-label="Documentation" class="tabs">
        ${linksTo(DOCS, `/docs/${guide}`)}
      </nav>
${accessible(marked.parse(text.replace(/<!--.*?-->/gs, '')))}    </main>
  </body>
</html>
`,
  );
}
