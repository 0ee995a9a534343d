#!/usr/bin/env node
/** Runs the snippets of docs/snippets.md and the sellers of docs/selling unchanged. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Marketplace, sandboxPayer, evmWallet } from '@market/sdk';
import { eventually, freePort, startMarketplace, startOwnProcess } from '@market/testing';

const PROJECT = fileURLToPath(new URL('..', import.meta.url));
const page = readFileSync(`${PROJECT}docs/snippets.md`, 'utf8');
const snippet = (heading, language) =>
  page
    .split(`\n## ${heading}\n`)[1]
    .split('\n## ')[0]
    .match(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's'))[1];
const directory = mkdtempSync(join(tmpdir(), 'market-snippets-'));
/** @returns the path of the compiled program. */
function compiledGo() {
  const program = join(directory, 'seller');
  execFileSync('go', ['build', '-o', program, 'docs/selling/seller.go'], { cwd: PROJECT });
  return program;
}
const run = (program, args, env) =>
  execFileSync(program, args, { cwd: PROJECT, encoding: 'utf8', env: { ...process.env, ...env } }).trim();

const marketplace = await startMarketplace({ mode: 'standalone' });
const env = { BASE_URL: marketplace.baseUrl };
const shop = startOwnProcess('node', ['docs/first-call/seller.mjs'], { cwd: PROJECT, env: { ...process.env, ...env } });
const sellers = [shop];
try {
  await eventually(async () => assert.match(shop.output(), /selling "word-count"/));
  const shared = page.match(/```sh\n(.*?)```/s)[1].replace('http://localhost:3000', marketplace.baseUrl);
  const [api, key] = run('bash', ['-euc', `${shared}\necho "$API"; echo "$KEY"`], env).split('\n');
  Object.assign(env, { API: api, LISTING: 'word-count', KEY: key });

  const bought = {
    curl: () =>
      run('bash', ['-euc', snippet('Buy with curl', 'sh')], env).replace(/^.*"seller_response":(.*?)}}$/s, '$1'),
    TypeScript: () => run('node', ['--input-type=module', '--eval', snippet('Buy with TypeScript', 'ts')], env),
    Python: () => run('python3', ['-c', snippet('Buy with Python', 'python')], env).replaceAll("'", '"'),
  };
  for (const [language, buy] of Object.entries(bought)) {
    assert.deepEqual(JSON.parse(buy()), { words: 6 }, language);
    console.log(`buys with ${language}`);
  }
  const market = new Marketplace({ baseUrl: api, apiKey: key });
  assert.equal((await market.receipts.list()).pagination.total, 3);

  const sold = {
    Python: (env) => startOwnProcess('python3', ['docs/selling/seller.py'], { cwd: PROJECT, env }),
    TypeScript: (env) => startOwnProcess('node', ['docs/selling/seller.mjs'], { cwd: PROJECT, env }),
    Go: (env) => startOwnProcess(compiledGo(), [], { env }),
  };
  if (spawnSync('go', ['version']).status !== 0) {
    delete sold.Go;
    console.log('not run: the seller in Go, which needs go (Debian: golang-go)');
  }
  const { marketplace: buyer } = await new Marketplace({ baseUrl: api }).register(evmWallet());
  for (const [language, sell] of Object.entries(sold)) {
    const port = String(await freePort());
    const listing = await market.listings.create({
      name: `Words, counted by ${language}`,
      description: 'Counts the words of a text.',
      pricing_model: 'per_call',
      pricing_amount: 0.25,
      private_endpoint_url: `http://127.0.0.1:${port}`,
    });
    sellers.push(sell({ ...process.env, SIGNING_SECRET: listing.gateway_signing_secret, PORT: port }));
    const attempt = (timestamp) =>
      fetch(`http://127.0.0.1:${port}`, {
        method: 'POST',
        body: '{"text":"let me in"}',
        headers: { 'X-Market-Timestamp': timestamp, 'X-Market-Request-Id': 'a', 'X-Market-Signature': 'v1,AAAA v1' },
      });
    await eventually(async () => assert.equal((await attempt(String(Math.floor(Date.now() / 1000)))).status, 401));
    assert.equal((await attempt('soon')).status, 401);
    const call = (body) => buyer.call(listing, body, { pay: sandboxPayer(buyer) });
    assert.deepEqual((await call({ text: 'to be' })).seller_response, { words: 2 });
    const refused = await call({ text: 1 });
    assert.deepEqual([refused.billable, refused.seller_status_code], [false, 422]);
    // Of the two signatures of a call during the overlap, the one by the old secret lets it in.
    await market.endpoint.rotateSecret(listing);
    assert.deepEqual((await call({ text: 'or not to be' })).seller_response, { words: 4 });
    console.log(`sells with ${language}`);
  }
} finally {
  for (const seller of sellers) await seller.stop();
  await marketplace.stop();
  rmSync(directory, { recursive: true, force: true });
}
