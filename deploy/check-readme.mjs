#!/usr/bin/env node
/** Runs the first paid call of README.md, in both modes, and compares the output with the page. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { eventually, startMarketplace, startOwnProcess } from '@market/testing';

const PROJECT = fileURLToPath(new URL('..', import.meta.url));
const page = readFileSync(`${PROJECT}README.md`, 'utf8');
const walk = page.split('## A first paid call')[1].split('\n## ')[0];
const [seller, buyer] = [...walk.matchAll(/```sh\n(.*?)```/gs)].map(([, block]) => block);

for (const mode of ['standalone', 'distributed']) {
  const marketplace = await startMarketplace({ mode });
  const shop = startOwnProcess('sh', ['-c', `exec ${seller}`], {
    cwd: PROJECT,
    env: { ...process.env, BASE_URL: marketplace.baseUrl },
  });
  try {
    await eventually(async () => assert.match(shop.output(), /selling "word-count" for \$0\.25 a call/));
    const script = buyer.replace('http://localhost:3000', marketplace.baseUrl);
    const printed = execFileSync('bash', ['-euc', script], {
      cwd: PROJECT,
      encoding: 'utf8',
      env: { ...process.env, BASE_URL: marketplace.baseUrl },
    });
    const [offer, payment, answer, repeated, receipts, ledger] = printed.trim().split('\n');
    assert.match(
      offer,
      new RegExp(
        '^{"success":false,"error":{"code":"PAYMENT_REQUIRED",.*"data":{"payment":{.*"relay_request_id":"0x.*' +
          '"requirements":{"depositAddress":"0x.*"amount":"0\\.25",.*"currency":"USDC"',
      ),
    );
    assert.match(payment, /^{"success":true,"data":{.*"status":"verified","outcome":"paid","received_amount":"0\.25"/);
    assert.match(
      answer,
      new RegExp(
        '^{"success":true,"data":{"request_id":".*","billable":true,"charged_amount":{"amount_cents":25,"currency":"USD"},' +
          '"fees":{.*"fee_amount_cents":1\\.25,"seller_receives_cents":23\\.75},"seller_status_code":200,' +
          '"seller_response":{"words":6}}}$',
      ),
    );
    assert.equal(repeated, answer);
    const [receipt] = JSON.parse(receipts).data;
    assert.deepEqual([receipt.gross_amount, receipt.fee_amount], [0.25, 0.0125]);
    assert.deepEqual(
      JSON.parse(ledger).data.map((entry) => entry.amount_cents),
      [25],
    );
    await eventually(async () => assert.equal(shop.output().match(/gateway\.call/g)?.length, 1));
    console.log(`${mode}: the README's first paid call does what the page says`);
  } finally {
    await shop.stop();
    await marketplace.stop();
  }
}
