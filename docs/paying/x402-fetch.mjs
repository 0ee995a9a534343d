// Calls a listing with a stock x402 client, which signs a payment of USDC when it is asked for one. Without KEY it needs no account:
//   [KEY=am_k_…] [PAYER_KEY=0x…] node docs/paying/x402-fetch.mjs word-count
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { wrapFetchWithPayment, x402Client, x402HTTPClient } from '@x402/fetch';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';

const { KEY, PAYER_KEY = generatePrivateKey(), BASE_URL = 'http://localhost:3000' } = process.env;
const client = new x402Client().register('eip155:*', new ExactEvmScheme(privateKeyToAccount(PAYER_KEY)));
const response = await wrapFetchWithPayment(fetch, client)(
  `${BASE_URL}/api/v1/${KEY ? 'gateway' : 'x402'}/${process.argv[2]}`,
  {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(KEY && { authorization: `Bearer ${KEY}` }) },
    body: JSON.stringify({ text: 'to be or not to be' }),
  },
);
console.log(response.status, await response.text());
if (response.headers.has('payment-response'))
  console.log(new x402HTTPClient(client).getPaymentSettleResponse((name) => response.headers.get(name)));
