#!/usr/bin/env node
/**
 * Installs the SDK's tarball outside the project, compiles its users with the strictest type checks, sells with it in
 * Node.js, and buys with it in Node.js, Deno, Bun and a browser, in both modes.
 */
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { startMarketplace } from '@market/testing';
import { pack } from './packages/pack.mjs';

const SOURCES = new URL('./packages/', import.meta.url);
const directory = mkdtempSync(join(tmpdir(), 'market-sdk-'));
const inside = (name) => join(directory, name);
const run = (program, ...args) =>
  execFileSync(program, args, { cwd: directory, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();

try {
  const { sdk } = pack(directory);
  writeFileSync(
    inside('package.json'),
    '{"type":"module","private":true,"allowScripts":{"bun":true,"deno":true,"esbuild":true}}',
  );
  run('npm', 'install', '--silent', sdk);
  const packages = readdirSync(inside('node_modules'), { recursive: true }).filter((name) =>
    /^(@[^/]+\/)?[^/]+\/package\.json$/.test(name),
  );
  assert.deepEqual(
    packages.sort(),
    ['@market/sdk', '@noble/curves', '@noble/hashes', '@scure/base', 'eventsource-parser'].map(
      (name) => `${name}/package.json`,
    ),
  );
  console.log(`it installs, with four packages: ${run('du', '-sh', 'node_modules')}`);

  for (const name of ['buy.ts', 'sell.ts']) cpSync(new URL(name, SOURCES), inside(name));
  writeFileSync(
    inside('main.ts'),
    "import { buy } from './buy.js';\n" +
      'const [baseUrl, slug] = process.argv.slice(2) as [string, string];\n' +
      'console.log(await buy(baseUrl, slug));\n',
  );
  writeFileSync(
    inside('page.ts'),
    "import { buy } from './buy.js';\n" +
      "const [baseUrl, slug] = location.hash.slice(1).split('|') as [string, string];\n" +
      'const body = await buy(baseUrl, slug).catch(String);\n' +
      "await fetch('/result', { method: 'POST', body });\n",
  );
  run(
    'npm',
    'install',
    '--silent',
    'typescript@6.0.3',
    '@types/node@20.19.43',
    'deno@2.9.6',
    'bun@1.4.4',
    'esbuild@0.28.2',
  );
  const tsc = (...args) => run('npx', 'tsc', '--strict', '--noUncheckedIndexedAccess', '--target', 'es2022', ...args);
  tsc('--module', 'nodenext', '--lib', 'es2022', '--types', 'node', 'main.ts', 'sell.ts');
  tsc('--module', 'esnext', '--moduleResolution', 'bundler', '--lib', 'es2022,dom', '--noEmit', 'page.ts');
  // The bundle fails if it imports a module of Node.js.
  run(
    'npx',
    'esbuild',
    'page.ts',
    '--bundle',
    '--format=esm',
    '--platform=browser',
    '--outfile=page.js',
    '--log-level=error',
  );
  console.log(
    `it compiles strictly; a page that buys has ${Math.ceil(readFileSync(inside('page.js')).length / 1024)} KB, not minified`,
  );

  const { sell } = await import(pathToFileURL(inside('sell.js')));
  for (const mode of ['standalone', 'distributed']) {
    const marketplace = await startMarketplace({ mode });
    const { listing, server } = await sell(marketplace.baseUrl);
    const buy = [marketplace.baseUrl, listing.slug];
    // `run` would block this process, in which the seller runs.
    const runtime = async (program, ...args) =>
      (await promisify(execFile)(program, [...args, 'main.js', ...buy], { cwd: directory })).stdout.trim();
    const runtimes = {
      'Node.js': () => runtime('node'),
      Deno: () => runtime('npx', 'deno', 'run', '--allow-all'),
      Bun: () => runtime('npx', 'bun', 'run'),
      'a browser': () => inBrowser(buy.join('|')),
    };
    for (const [name, bought] of Object.entries(runtimes)) {
      assert.equal(await bought(), '[6,[0.25],6,true,"to be or not to be",true]', name);
      console.log(`${mode}: ${name} buys with play money and by a signature, and reads a stream`);
    }
    await server.close();
    await marketplace.stop();
  }
} finally {
  rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
}

/** Opens the page in a real browser, from another origin than the marketplace. @returns what it sends back. */
async function inBrowser(hash) {
  let report;
  const reported = new Promise((resolve) => (report = resolve));
  const site = createServer(async (request, response) => {
    if (request.url === '/result') report(Buffer.concat(await request.toArray()).toString());
    const [type, text] =
      request.url === '/page.js'
        ? ['text/javascript', readFileSync(inside('page.js'))]
        : ['text/html', '<script type="module" src="/page.js"></script>'];
    response.writeHead(200, { 'content-type': type }).end(text);
  }).listen(0, '127.0.0.1');
  await once(site, 'listening');
  const address = `http://127.0.0.1:${site.address().port}/#${hash}`;
  const browser = spawn(
    'chromium',
    ['--headless', '--no-sandbox', '--disable-gpu', `--user-data-dir=${inside('chromium')}`, address],
    { stdio: 'ignore' },
  );
  const ended = once(browser, 'exit');
  try {
    return await Promise.race([reported, ended.then(([code]) => `the browser ended with ${code}`)]);
  } finally {
    browser.kill();
    await ended;
    site.close();
    site.closeAllConnections();
  }
}
