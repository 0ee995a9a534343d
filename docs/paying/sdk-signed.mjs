// Calls a listing and pays by a signature. Without KEY it needs no account:
//   [KEY=am_k_…] [PAYER_KEY=0x…] node docs/paying/sdk-signed.mjs word-count
import { evmWallet, Marketplace, x402Payer } from '@market/sdk';

const { KEY, PAYER_KEY, BASE_URL } = process.env;
const market = new Marketplace({ baseUrl: BASE_URL ?? 'http://localhost:3000', apiKey: KEY });
const pay = x402Payer(evmWallet(PAYER_KEY), { 'eip155:84532': {} });
const answer = await market.call(process.argv[2], { text: 'to be or not to be' }, { pay, maxPriceUsd: '0.25' });
console.log(answer.seller_response, answer.charged_amount, answer.settlement);
