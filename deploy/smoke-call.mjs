#!/usr/bin/env node
/**
 * Makes one paid call against a running sandbox marketplace (BASE_URL) that can connect to this machine, at SELLER_HOST
 * if it is named. Prints the buyer's API key; given one as an argument, checks instead that its receipt still exists.
 */
import assert from 'node:assert/strict';
import { evmWallet, Marketplace, sandboxPayer } from '@market/sdk';
import { sellerServer } from '@market/sdk/seller';

const visitor = new Marketplace({ baseUrl: process.env.BASE_URL ?? 'http://localhost:3000', timeoutMs: 20_000 });
const [apiKey] = process.argv.slice(2);
console.log(apiKey ? await remembers(apiKey) : await callOnce());

async function callOnce() {
  const { marketplace: seller } = await visitor.register(evmWallet(), { displayName: 'Smoke seller' });
  const { marketplace: buyer, registration } = await visitor.register(evmWallet(), { displayName: 'Smoke buyer' });
  let secret = [];
  const server = await sellerServer(({ body }) => ({ echo: body.text }), {
    secret: () => secret,
    host: process.env.SELLER_HOST,
  });
  try {
    const listing = await seller.listings.create({
      name: 'Smoke echo',
      description: 'Says again what it was told.',
      pricing_model: 'per_call',
      pricing_amount: 0.25,
      private_endpoint_url: server.url,
    });
    secret = listing.gateway_signing_secret;
    const result = await buyer.call(listing, { text: 'hello' }, { pay: sandboxPayer(buyer), maxPriceUsd: '0.25' });
    assert.deepEqual(result.seller_response, { echo: 'hello' });
    assert.deepEqual([result.billable, result.charged_amount.amount_cents], [true, 25]);
    assert.equal((await buyer.receipts.list()).data.length, 1);
    return registration.api_key;
  } finally {
    await server.close();
  }
}

async function remembers(key) {
  const buyer = new Marketplace({ baseUrl: visitor.baseUrl, apiKey: key });
  assert.equal((await buyer.receipts.list()).data.length, 1);
  return `the receipt of ${(await buyer.me()).display_name} is still there`;
}
