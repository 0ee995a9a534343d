#!/usr/bin/env node
/** Lints the OpenAPI document with common tools, and buys a call with a strict client that is generated from it. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Marketplace, evmWallet } from '@market/sdk';
import { eventually, startMarketplace, startOwnProcess } from '@market/testing';

const PROJECT = fileURLToPath(new URL('..', import.meta.url));
const TOOLS = [
  '@redocly/cli@2.77.0',
  '@stoplight/spectral-cli@6.16.3',
  'openapi-typescript@7.13.0',
  'openapi-fetch@0.17.0',
  'typescript@5.9.3',
];

const BUY = `
import createClient from 'openapi-fetch';
import type { paths } from './openapi.js';

const { BASE_URL, KEY } = process.env as Record<string, string>;
const market = createClient<paths>({ baseUrl: BASE_URL!, headers: { Authorization: \`Bearer \${KEY}\` } });
const at = { path: { listingId: 'word-count' } };
const body = { text: 'to be or not to be' };

const quoted = await market.POST('/api/v1/gateway/{listingId}', { params: at, body });
const offer = quoted.error;
if (!offer || !('data' in offer) || !offer.data) throw new Error('no offer');
const id: string = offer.data.payment.relay_request_id;
const paid = await market.POST('/api/v1/sandbox/payments/{relayRequestId}/pay', {
  params: { path: { relayRequestId: id } },
  body: { outcome: 'paid' },
});
if (!paid.data) throw new Error('not paid');
const bought = await market.POST('/api/v1/gateway/{listingId}', {
  params: { ...at, header: { 'X-Market-Relay-Request-Id': id } },
  body,
});
// A client that accepts a file's type may get its bytes instead.
if (!bought.data || typeof bought.data === 'string' || !('seller_response' in bought.data.data)) throw new Error('no answer');
const receipts = await market.GET('/api/v1/receipts');
console.log(JSON.stringify([bought.data.data.seller_response, receipts.data?.data.length]));
`;

/** Who reads a price is always asked to pay, with 402. */
const PRICE = '/api/v1/x402/{listingId}';

const directory = mkdtempSync(join(tmpdir(), 'market-openapi-'));
const run = (program, ...args) =>
  execFileSync(program, args, { cwd: directory, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

try {
  copyFileSync(join(PROJECT, 'docs/openapi.json'), join(directory, 'openapi.json'));
  writeFileSync(join(directory, 'package.json'), '{"private":true,"type":"module"}');
  run('npm', 'install', '--silent', ...TOOLS);

  const { totals } = JSON.parse(
    run('npx', 'redocly', 'lint', 'openapi.json', '--extends', 'recommended', '--format', 'json'),
  );
  assert.deepEqual([totals.errors, totals.warnings], [0, 0], 'npx @redocly/cli lint docs/openapi.json');
  console.log("Redocly's recommended rules: 0 errors, 0 warnings");
  writeFileSync(join(directory, '.spectral.yaml'), 'extends: ["spectral:oas"]\n');
  const found = JSON.parse(
    run('npx', 'spectral', 'lint', 'openapi.json', '--format', 'json', '--quiet', '--fail-severity', 'error'),
  ).filter(({ code, path }) => code !== 'operation-success-response' || path[1] !== PRICE);
  assert.deepEqual(found, [], 'npx spectral lint docs/openapi.json');
  console.log("Spectral's rules: 0 errors, 0 warnings");

  run('npx', 'openapi-typescript', 'openapi.json', '--output', 'openapi.d.ts');
  writeFileSync(join(directory, 'buy.mts'), BUY);
  run(
    'npx',
    'tsc',
    '--strict',
    '--noUncheckedIndexedAccess',
    '--target',
    'es2023',
    '--module',
    'nodenext',
    '--skipLibCheck',
    'buy.mts',
  );
  await buys();
  console.log('a strict client generated from it compiles and buys');
} finally {
  rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
}

async function buys() {
  const marketplace = await startMarketplace({ mode: 'standalone' });
  const env = { ...process.env, BASE_URL: marketplace.baseUrl };
  const shop = startOwnProcess('node', ['docs/first-call/seller.mjs'], { cwd: PROJECT, env });
  try {
    await eventually(async () => assert.match(shop.output(), /selling "word-count"/));
    const { registration } = await new Marketplace({ baseUrl: marketplace.baseUrl }).register(evmWallet());
    const printed = execFileSync('node', ['buy.mjs'], {
      cwd: directory,
      encoding: 'utf8',
      env: { ...env, KEY: registration.authorization_header.replace('Bearer ', '') },
    });
    assert.deepEqual(JSON.parse(printed), [{ words: 6 }, 1]);
  } finally {
    await shop.stop();
    await marketplace.stop();
  }
}
