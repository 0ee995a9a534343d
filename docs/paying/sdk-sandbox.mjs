// Calls a listing and pays with play money:  KEY=am_k_… node docs/paying/sdk-sandbox.mjs word-count
import { Marketplace, sandboxPayer } from '@market/sdk';

const market = new Marketplace({ baseUrl: process.env.BASE_URL ?? 'http://localhost:3000', apiKey: process.env.KEY });
const listing = await market.listings.get(process.argv[2]);
const answer = await market.call(
  listing,
  { text: 'to be or not to be' },
  { pay: sandboxPayer(market), maxPriceUsd: '0.25' },
);
console.log(answer.seller_response, answer.charged_amount);
