#!/usr/bin/env node
/** Installs the command line's tarball outside the project and uses all its commands, in both modes. */
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { evmWallet, Marketplace } from '@market/sdk';
import { eventually, startMarketplace, startOwnProcess } from '@market/testing';
import { pack } from './packages/pack.mjs';

const directory = mkdtempSync(join(tmpdir(), 'market-cli-'));
const inside = (name) => join(directory, name);
const BIN = inside('node_modules/.bin/market');

try {
  const { cli } = pack(relative(process.cwd(), directory));
  writeFileSync(inside('package.json'), '{"private":true}');
  execFileSync('npm', ['install', '--silent', cli], { cwd: directory });
  writeFileSync(
    inside('shout.mjs'),
    `export const listing = { description: 'Makes a text upper case.', pricing_amount: 0.05, formats: ['json', 'binary', 'sse'] };
export default ({ body, reply, file, job }) => {
  if (body.stream) return spoken(body.stream);
  if (body.job) return job(async ({ progress }) => {
    await progress({ percent: 40, message: 'page 8' });
    await new Promise((done) => setTimeout(done, 3_000));
    if (body.job === 'break') throw new Error('a bug of the seller');
    return file(new TextEncoder().encode(body.job), 'application/octet-stream');
  });
  if (body.bytes) return file(new Uint8Array(body.bytes).fill(255), 'application/octet-stream');
  if (body.text === 'break') throw new Error('a bug of the seller');
  return body.text ? { upper: body.text.toUpperCase() } : reply(422, { missing: 'text' });
};
async function* spoken(words) {
  for (const word of words) {
    if (word === 'break') throw new Error('a bug of the seller');
    yield word.length > 3 ? { data: { word }, event: 'long', id: word } : word;
  }
}`,
  );
  writeFileSync(inside('api.yaml'), 'openapi: 3.1.0\ninfo: {title: An API}\npaths: {/it: {get: {operationId: it}}}\n');
  const offered = ['sell', '--openapi', 'api.yaml', '--upstream', 'http://localhost:8080', '--price', '1', '--dry-run'];
  assert.match(execFileSync(BIN, offered, { cwd: directory, encoding: 'utf8' }), /\nit +it +\$1\.00 +json +\{\}\n/);
  for (const mode of ['standalone', 'distributed']) await walk(mode);
} finally {
  rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
}

async function walk(mode) {
  const marketplace = await startMarketplace({ mode });
  const environment = (agent) => ({
    PATH: process.env.PATH,
    HOME: directory,
    XDG_CONFIG_HOME: inside(`${mode}-${agent}`),
  });
  /** @returns the exit code and the output. */
  const run = (agent, args, { input = '', env = {} } = {}) => {
    const { status, stdout, stderr } = spawnSync(BIN, args, {
      cwd: directory,
      encoding: 'utf8',
      input,
      env: { ...environment(agent), ...env },
    });
    return { status, stdout, stderr };
  };
  const ok = (agent, args, options) => {
    const ran = run(agent, args, options);
    assert.equal(ran.status, 0, `market ${args.join(' ')}: ${ran.stderr}`);
    return ran.stdout;
  };
  const json = (agent, args, options) => JSON.parse(ok(agent, [...args, '--json'], options));
  const fails = (agent, args, status, why, options) => {
    const ran = run(agent, args, options);
    assert.deepEqual(
      [ran.status, ran.stderr.match(why)?.[0] ?? ran.stderr],
      [status, why.exec(ran.stderr)?.[0]],
      `market ${args.join(' ')}`,
    );
  };
  const sell = (...args) =>
    startOwnProcess(BIN, ['sell', 'shout.mjs', ...args], { cwd: directory, env: environment('seller') });
  const shops = [];
  try {
    // Accounts: one with a new wallet, and one with an existing wallet.
    const url = ['--url', marketplace.baseUrl];
    fails('seller', ['sell', 'shout.mjs', ...url], 1, /market signup/);
    const seller = json('seller', ['signup', ...url, '--name', 'Otto', '--chain', 'solana']);
    assert.equal(statSync(seller.config).mode & 0o777, 0o600);
    assert.ok(seller.config.startsWith(inside(`${mode}-seller`)));
    const wallet = evmWallet();
    writeFileSync(inside('wallet'), `${wallet.exportKey()}\n`);
    assert.match(ok('buyer', ['signup', ...url, '--wallet', 'wallet']), new RegExp(wallet.address));
    fails('buyer', ['signup', ...url], 1, /kept here already/);
    assert.equal(json('buyer', ['signup', '--recover']).wallet, wallet.address);

    // A human claims the seller: the command names the page, and finishes with the code of that page.
    const { marketplace: human } = await new Marketplace({ baseUrl: marketplace.baseUrl }).signIn(evmWallet());
    assert.match(ok('seller', ['claim']), new RegExp(`${marketplace.baseUrl}/mine/claim\\?agent=${seller.agent_id}`));
    const { code } = await human.claimCode(seller.agent_id);
    fails('buyer', ['claim', code, '--yes'], 1, /claim code is unknown/);
    fails('seller', ['claim', code], 1, /- urn:uuid:[^]*Agree with --yes/);
    const { code: another } = await human.claimCode(seller.agent_id);
    assert.equal(json('seller', ['claim', another, '--yes']).agent_id, seller.agent_id);

    // Selling: a restarted seller continues with the same listing, with its configuration and without.
    const open = async (...args) => {
      const shop = sell('--json', ...args);
      shops.push(shop);
      await eventually(() => assert.match(shop.output(), /"event":"selling"/));
      return {
        shop,
        ...JSON.parse(
          shop
            .output()
            .split('\n')
            .find((line) => line.includes('selling')),
        ),
      };
    };
    const first = await open();
    assert.deepEqual([first.listing, first.price], ['shout', 0.05]);
    process.kill(first.shop.pid, 'SIGINT');
    await first.shop.ended;
    fails('buyer', ['show', 'shout'], 1, /NOT_FOUND/);
    const forgotten = JSON.parse(readFileSync(seller.config, 'utf8'));
    forgotten.accounts[marketplace.baseUrl].signingSecrets = {};
    writeFileSync(seller.config, JSON.stringify(forgotten));
    const { shop, endpoint: address } = await open('--price', '0.10');

    // Searching and buying.
    const [found, ...more] = json('buyer', ['search', 'shout']);
    assert.deepEqual([found.slug, found.pricing_amount, more], ['shout', 0.1, []]);
    assert.match(
      ok('buyer', ['search', '--max-price', '0.5']),
      /^LISTING +PRICE .*\nshout +\$0\.10 per call +(true|false) .*Otto +Makes a text upper case\./,
    );
    assert.match(ok('buyer', ['show', 'shout']), /^description: Makes a text upper case\.$/m);
    const call = (body, ...args) => ['call', 'shout', body, ...args];
    assert.deepEqual(JSON.parse(ok('buyer', call('{"text":"hi"}', '--max-price', '0.10'))), { upper: 'HI' });
    assert.deepEqual(
      json('buyer', call('@-', '--max-price', '0.1', '--network', 'eip155:84532'), { input: '{"text":"signed"}' })
        .seller_response,
      { upper: 'SIGNED' },
    );
    fails('buyer', call('{"text":"dear"}', '--max-price', '0.09'), 4, /PRICE_ABOVE_LIMIT/);
    fails('buyer', call('{"text":"asked"}'), 4, /--max-price 0\.1/);
    fails('buyer', call('{}', '--max-price', '1'), 3, /The seller answered 422; nothing was charged/);
    fails('buyer', call('{"text":"break"}', '--max-price', '1'), 3, /The seller answered 500/);
    fails('buyer', ['show', 'nothing-of-this-name'], 1, /NOT_FOUND/);
    fails('buyer', ['show', 'shoutt'], 1, /did you mean: shout/);
    fails('buyer', ['serch'], 2, /search/);
    fails('buyer', call('{text'), 2, /not JSON/);
    fails('buyer', ['show', 'shout', '--url', 'http://127.0.0.1:9'], 1, /NETWORK_ERROR/);
    assert.match(
      await atTerminal(environment('buyer'), 'market call shout \'{"text":"agreed"}\'', 'y'),
      /Call "shout" for \$0\.10\? \[y\/N\][^]*AGREED/,
    );
    assert.match(
      await atTerminal(environment('buyer'), 'market call shout \'{"text":"declined"}\'', 'n'),
      /Nothing was paid/,
    );
    await eventually(() => assert.match(shop.output(), /a bug of the seller/));
    const served = shop
      .output()
      .split('\n')
      .filter((line) => line.includes('"gateway.call"'))
      .map((line) => JSON.parse(line).status);
    assert.deepEqual(served, [200, 200, 422, 500, 200]);

    // The books, and a receipt that is verified offline.
    const receipts = json('buyer', ['receipts']);
    assert.deepEqual(
      receipts.map(({ gross_amount }) => gross_amount),
      [0.1, 0.1, 0.1],
    );
    assert.match(ok('seller', ['receipts', '--role', 'seller']), /seller +shout +\$0\.10 +\$0\.005 +\$0\.095/);
    assert.match(ok('buyer', ['ledger']), /^TIME .*\n.*shout +\w+ +\$0\.10/);
    assert.equal(json('seller', ['balance']).earned.usd, 0.285);
    assert.match(ok('seller', ['balance']), /^WHAT +AMOUNT\nearned +\$0\.285\n/);
    const month = new Date().toISOString().slice(0, 7);
    const { totals, entries } = json('seller', ['statement', month]);
    assert.deepEqual([totals.earned.usd, totals.fees.usd, entries.length], [0.3, 0.015, 6]);
    assert.match(
      ok('seller', ['statement', month]),
      /^TIME .*\n.*shout +\w+ +\$[^]*\nWHAT +AMOUNT\nopening balance +\$0.*\nearned +\$0\.30?\n/,
    );
    assert.equal(ok('seller', ['statement', month, '--csv']).trim().split('\r\n').length, 7);
    fails('seller', ['statement', '2026-13'], 1, /NOT_FOUND/);

    // Refunds: a call is paid too late, so a refund is due.
    const { apiKey } = JSON.parse(readFileSync(inside(`${mode}-buyer/market/config.json`), 'utf8')).accounts[
      marketplace.baseUrl
    ];
    const market = new Marketplace({ baseUrl: marketplace.baseUrl, apiKey });
    const { payment } = await market.call('shout', { text: 'late' }).catch((error) => error);
    await market.sandbox.pay(payment.relay_request_id, { outcome: 'late' });
    const [refund] = json('buyer', ['refunds']);
    assert.deepEqual([refund.status, refund.reason, refund.amount.usd], ['refund_due', 'paid_late', 0.1]);
    assert.match(
      ok('buyer', ['refunds', '--status', 'refund_due']),
      /^SINCE .*\n.*buyer +shout +\$0\.10 +operator +paid_late/,
    );
    assert.deepEqual(json('seller', ['refunds', '--role', 'seller']), []);

    // Watching: prints past and new events, and continues after the given one.
    const watch = (...args) => {
      const watching = startOwnProcess(BIN, ['watch', ...args], { cwd: directory, env: environment('seller') });
      shops.push(watching);
      return watching;
    };
    const watching = watch('--json');
    const told = () =>
      watching
        .output()
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line));
    await eventually(() => assert.equal(told().filter(({ type }) => type === 'sale').length, 3));
    const last = told().at(-1).id;
    ok('buyer', call('{"text":"watched"}', '--max-price', '0.10'));
    await eventually(() => assert.ok(told().at(-1).type === 'sale' && Number(told().at(-1).id) > Number(last)));
    const behind = watch('--since', last);
    await eventually(() =>
      assert.match(behind.output(), new RegExp(`^${told().at(-1).id} \\d{4}-.* sale \\{.*\\}\n$`)),
    );
    process.kill(watching.pid, 'SIGINT');
    assert.equal(await watching.ended, 0);
    const receipt = ok('buyer', ['receipt', receipts[0].id]);
    writeFileSync(inside('receipt.json'), receipt);
    writeFileSync(inside('jwks.json'), await (await fetch(`${marketplace.baseUrl}/.well-known/jwks.json`)).text());
    writeFileSync(inside('forged.json'), receipt.replace('"gross_amount": 0.1', '"gross_amount": 0.2'));
    const { jws } = JSON.parse(receipt);
    writeFileSync(
      inside('altered.jws'),
      jws.replace(/\.(.)/, (_, letter) => `.${letter === 'f' ? 'e' : 'f'}`),
    );

    // Keys.
    const key = ok('buyer', ['keys', 'create', 'reader', '--scope', 'read']).trim();
    const env = { MARKET_URL: marketplace.baseUrl, MARKET_API_KEY: key };
    assert.equal(json('nobody', ['receipts'], { env }).length, 4);
    fails('nobody', ['keys', 'create', 'more'], 1, /FORBIDDEN|SCOPE/, { env });
    const { id } = json('buyer', ['keys', 'list']).find(({ name }) => name === 'reader');
    ok('buyer', ['keys', 'revoke', id]);
    fails('nobody', ['receipts'], 1, /UNAUTHORIZED/, { env });
    assert.match(ok('buyer', ['completion']), /compdef|complete/);
    assert.match(ok('buyer', ['--get-yargs-completions', 'market', 're']), /receipts/);

    // Listings that somebody else serves: made, changed, and withdrawn after a question.
    writeFileSync(inside('example.json'), '{"text":"HI"}');
    const kept = () => JSON.parse(readFileSync(seller.config, 'utf8')).accounts[marketplace.baseUrl].signingSecrets;
    const listings = (...args) => json('seller', ['listings', ...args]);
    const texts = ['--name', 'Whisper', '--description', 'Makes a text lower case.', '--price', '0.01', '--draft'];
    const schemas = ['--input-schema', '{"type":"object"}', '--example-input', '@example.json'];
    const whisper = listings('create', ...texts, ...schemas, '--endpoint', address);
    assert.deepEqual([whisper.status, kept()[whisper.id]], ['draft', whisper.gateway_signing_secret]);
    assert.match(ok('seller', ['listings']), /^LISTING .*\nwhisper +Whisper +\$0\.01 per call +draft/);
    listings('edit', 'whisper', '--price', '0.02', '--fields', '{"sla":"none"}', '--tag', 'quiet');
    ok('seller', ['listings', 'publish', 'whisper']);
    assert.equal(listings('pause', 'whisper').status, 'paused');
    assert.equal(listings('resume', 'whisper').status, 'unverified');
    const header = ['--auth-header', 'X-Key: 1', '--timeout-ms', '5000', '--limits', '{"max_concurrency":2}'];
    const endpoint = listings('endpoint', 'set', 'whisper', `${address}/other`, ...header);
    assert.deepEqual([endpoint.timeout_ms, endpoint.auth_header_name], [5000, 'X-Key']);
    assert.equal(listings('endpoint', 'set', 'whisper', '--auth-header', '').has_auth_header, false);
    fails('seller', ['listings', 'endpoint', 'test', 'whisper', '{"text":"x"}'], 1, /^/);
    const rotated = listings('endpoint', 'rotate', 'whisper', '--overlap', '0');
    assert.equal(kept()[whisper.id], rotated.gateway_signing_secret);
    const { status, pricing_amount, sla, tags, ...shownListing } = listings('show', 'whisper');
    assert.deepEqual([status, pricing_amount, sla, tags], ['active', 0.02, 'none', ['quiet']]);
    assert.equal(shownListing.endpoint.limits.max_concurrency, 2);
    fails('seller', ['listings', 'withdraw', 'whisper'], 1, /Agree with --yes/);
    assert.match(await atTerminal(environment('seller'), 'market listings withdraw whisper', 'n'), /Nothing was done/);
    await atTerminal(environment('seller'), 'market listings withdraw whisper', 'y');
    assert.equal(listings('show', 'whisper').status, 'draft');
    assert.equal(listings('delete', 'whisper', '--yes').deleted, true);

    // Webhooks: sent, answered by a server that lets nobody in, and sent again.
    const webhooks = (...args) => json('seller', ['webhooks', ...args]);
    const hook = webhooks('create', address, '--type', 'sale', '--description', 'Bookkeeping');
    assert.match(hook.secret, /^whsec_/);
    fails('seller', ['webhooks', 'test', hook.id], 1, /^/);
    ok('buyer', call('{"text":"hooked"}', '--max-price', '0.10'));
    let delivery;
    await eventually(() => assert.equal((delivery = webhooks('deliveries', hook.id)[0]).attempts.length, 1));
    assert.deepEqual([delivery.event.type, webhooks('replay', delivery.id).id], ['sale', delivery.id]);
    assert.notEqual(webhooks('rotate', hook.id).secret, hook.secret);
    assert.equal(webhooks('edit', hook.id, '--status', 'paused').status, 'paused');
    assert.match(ok('seller', ['webhooks']), /Bookkeeping +sale +paused/);
    fails('seller', ['webhooks', 'delete', hook.id], 1, /Agree with --yes/);
    ok('seller', ['webhooks', 'delete', hook.id, '--yes']);
    assert.deepEqual(webhooks('list'), []);

    // Jobs: followed until they are delivered.
    const followed = run('buyer', call('{"job":"done"}', '--max-price', '0.1', '--output', 'job.txt'));
    assert.equal(followed.status, 0, followed.stderr);
    assert.match(
      followed.stderr,
      /^working on .*--idempotency-key \S+\n[^]*40 % · page 8 · until 2[^]*charged \$0\.10/,
    );
    assert.equal(readFileSync(inside('job.txt'), 'utf8'), 'done');
    const [, jobKey] = /--idempotency-key (\S+)/.exec(followed.stderr);
    const resumed = json('buyer', call('{"job":"done"}', '--max-price', '0.1', '--idempotency-key', jobKey));
    assert.deepEqual([resumed.billable, resumed.seller_response.size], [true, 4]);
    fails('buyer', call('{"job":"break"}', '--max-price', '0.1'), 3, /nothing was charged/);

    // Files: small ones are in the answer, large ones are read from the marketplace.
    for (const bytes of [5, 1_500_000]) {
      const facts = json('buyer', call(`{"bytes":${bytes}}`, '--max-price', '0.1', '--output', 'answer.bin'));
      const { base64, content_type, size } = facts.seller_response;
      assert.deepEqual([base64, content_type, size], [undefined, 'application/octet-stream', bytes]);
      assert.deepEqual(readFileSync(inside('answer.bin')), Buffer.alloc(bytes, 255));
    }
    const shown = JSON.parse(ok('buyer', call('{"bytes":3}', '--max-price', '0.1')));
    assert.deepEqual([shown.base64, shown.size], [undefined, 3]);
    assert.equal(ok('buyer', call('{"bytes":4}', '--max-price', '0.1', '--output', '-')), '\ufffd'.repeat(4));
    ok('buyer', call('{"text":"kept"}', '--max-price', '0.1', '--output', 'answer.json'));
    assert.deepEqual(JSON.parse(readFileSync(inside('answer.json'), 'utf8')), { upper: 'KEPT' });
    fails('buyer', call('{"text":"lost"}', '--max-price', '0.1', '--output', 'no/such/answer'), 2, /cannot be written/);

    // Streams: as they come, together, and as they were sent.
    const spoken = (...words) => call(JSON.stringify({ stream: words }), '--max-price', '0.1');
    assert.equal(ok('buyer', [...spoken('a', 'b\nc', 'word'), '--stream']), 'a\nb\nc\n{"word":"word"}\n');
    const lines = ok('buyer', [...spoken('a', 'word'), '--stream', '--json'])
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const sent = [
      { event: 'message', data: 'a', id: null },
      { event: 'long', data: { word: 'word' }, id: 'word' },
    ];
    assert.deepEqual(lines.slice(0, -1), sent);
    assert.deepEqual([lines[2].event, lines[2].data.billable, lines[2].data.events], ['market.result', true, 2]);
    assert.deepEqual(JSON.parse(ok('buyer', spoken('a', 'word'))).events, sent);
    const written = 'data: a\n\nevent: long\nid: word\ndata: {"word":"word"}\n\n';
    assert.equal(ok('buyer', [...spoken('a', 'word'), '--output', '-']), written);
    assert.equal(ok('buyer', call('{"text":"plain"}', '--max-price', '0.1', '--stream')), '{\n  "upper": "PLAIN"\n}\n');
    fails('buyer', [...spoken('a', 'break'), '--stream'], 3, /nothing was charged/);
    fails('buyer', [...spoken('a'), '--stream', '--output', '-'], 2, /mutually exclusive/);
    await eventually(() => assert.match(shop.output(), /"status":500,"ms":\d+\}\n[^]*a bug/));
    await marketplace.stop();

    assert.equal(json('buyer', ['verify-receipt', 'receipt.json']).gross_amount, 0.1);
    assert.equal(json('nobody', ['verify-receipt', 'receipt.json', '--jwks', 'jwks.json']).receipt_id, receipts[0].id);
    fails('nobody', ['verify-receipt', 'receipt.json'], 1, /--jwks/);
    for (const file of ['forged.json', 'altered.jws']) fails('buyer', ['verify-receipt', file], 1, /not genuine/);
    console.log(`${mode}: the command line signs up, sells, buys, verifies and manages keys`);
  } finally {
    for (const shop of shops) await shop.stop();
    await marketplace.stop();
  }
}

/** Types an answer at a terminal. @returns what the terminal showed. */
async function atTerminal(env, command, answer) {
  const terminal = spawn('script', ['--quiet', '--command', command, '/dev/null'], {
    cwd: directory,
    env: { ...env, PATH: `${inside('node_modules/.bin')}:${env.PATH}`, SHELL: '/bin/sh' },
  });
  let shown = '';
  let isAnswered = false;
  terminal.stdout.on('data', (chunk) => {
    shown += chunk;
    // The terminal's own control characters follow the question.
    if (!isAnswered && shown.includes('[y/N]')) isAnswered = terminal.stdin.write(`${answer}\n`);
  });
  await new Promise((resolve) => terminal.once('close', resolve));
  return shown;
}
