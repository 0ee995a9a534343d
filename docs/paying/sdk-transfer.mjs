// Calls a listing and pays by a transfer, once for each NAME: whatever stops it, started again it goes on with the same payment:
//   KEY=am_k_… PAYER_KEY=0x… RPC_URL=https://… CHAIN_ID=84532 [CURRENCY=USDC] node docs/paying/sdk-transfer.mjs word-count order-7
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { evmPayer, Marketplace } from '@market/sdk';
import { privateKeyToAccount } from 'viem/accounts';

const { KEY, PAYER_KEY, RPC_URL, CHAIN_ID, CURRENCY = 'ETH', PAID = 'paid', BASE_URL = 'http://localhost:3000' } = process.env;
const [listing, name] = process.argv.slice(2);

await mkdir(PAID, { recursive: true });
const fileOf = (id) => `${PAID}/${id}.json`;
const payments = {
  find: async (id) => JSON.parse(await readFile(fileOf(id), 'utf8').catch(() => 'null')) ?? undefined,
  keep: async (payment) => {
    // The first one stays: what is there is not overwritten.
    await writeFile(fileOf(payment.relayRequestId), JSON.stringify(payment), { flag: 'wx' }).catch(() => undefined);
    return JSON.parse(await readFile(fileOf(payment.relayRequestId), 'utf8'));
  },
};

const market = new Marketplace({ baseUrl: BASE_URL, apiKey: KEY, payments });
const answer = await market.call(listing, { text: 'to be or not to be' }, {
  pay: evmPayer(privateKeyToAccount(PAYER_KEY), { [`eip155:${CHAIN_ID}`]: { rpcUrl: RPC_URL } }),
  idempotencyKey: name,
  originChainId: CHAIN_ID,
  originCurrency: CURRENCY,
  maxPriceUsd: '0.25',
  timeoutMs: 30 * 60_000,
});
console.log(answer.seller_response, answer.charged_amount);
