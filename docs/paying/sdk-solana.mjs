// Calls a listing and pays by a transfer of SOL or USDC on Solana; PAYER_KEY is the base58 of a 64-byte secret key:
//   KEY=am_k_… PAYER_KEY=… RPC_URL=https://… NETWORK=solana:… [CURRENCY=USDC USDC=…] node docs/paying/sdk-solana.mjs word-count
import { Marketplace, solanaPayer } from '@market/sdk';
import { createKeyPairSignerFromBytes, getBase58Encoder } from '@solana/kit';

const { KEY, PAYER_KEY, RPC_URL, NETWORK, CURRENCY = 'SOL', USDC, BASE_URL = 'http://localhost:3000' } = process.env;
const signer = await createKeyPairSignerFromBytes(getBase58Encoder().encode(PAYER_KEY));
const market = new Marketplace({ baseUrl: BASE_URL, apiKey: KEY });
const answer = await market.call(process.argv[2], { text: 'to be or not to be' }, {
  pay: solanaPayer(signer, { [NETWORK]: { rpcUrl: RPC_URL, usdc: USDC } }),
  originChainId: NETWORK,
  originCurrency: CURRENCY,
  maxPriceUsd: '0.25',
});
console.log(answer.seller_response, answer.charged_amount);
