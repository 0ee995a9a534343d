#!/usr/bin/env node
/** Runs the snippets of docs/snippets.md unchanged. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
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
  if (spawnSync('python3', ['-c', 'import x402']).status === 0) {
    const answer = run('python3', ['-c', snippet('Buy with Python and x402', 'python')], env);
    assert.deepEqual(JSON.parse(answer.replaceAll("'", '"')), { words: 6 });
    console.log('buys with Python and x402');
  } else console.log("not run: Buy with Python and x402, which needs pip install 'x402[requests,evm]'");
  const market = new Marketplace({ baseUrl: api, apiKey: key });
  assert.equal((await market.receipts.list()).pagination.total, 3);

  const port = String(await freePort());
  const listing = await market.listings.create({
    name: 'Words, counted by Python',
    description: 'Counts the words of a text.',
    pricing_model: 'per_call',
    pricing_amount: 0.25,
    private_endpoint_url: `http://127.0.0.1:${port}`,
  });
  sellers.push(
    startOwnProcess('python3', ['-c', snippet('Sell with Python', 'python')], {
      env: { ...process.env, SIGNING_SECRET: listing.gateway_signing_secret, PORT: port },
    }),
  );
  const attempt = () =>
    fetch(`http://127.0.0.1:${port}`, {
      method: 'POST',
      body: '{"text":"let me in"}',
      headers: { 'X-Market-Timestamp': String(Math.floor(Date.now() / 1000)) },
    });
  await eventually(async () => assert.equal((await attempt()).status, 401));
  const { marketplace: buyer } = await new Marketplace({ baseUrl: api }).register(evmWallet());
  const call = (body) => buyer.call(listing, body, { pay: sandboxPayer(buyer) });
  assert.deepEqual((await call({ text: 'to be' })).seller_response, { words: 2 });
  const refused = await call({ text: 1 });
  assert.deepEqual([refused.billable, refused.seller_status_code], [false, 422]);
  console.log('sells with Python');
} finally {
  for (const seller of sellers) await seller.stop();
  await marketplace.stop();
}
