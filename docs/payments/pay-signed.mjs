// Calls a listing with a stock x402 client, which signs a payment of USDC when it is asked for one:
//   KEY=am_k_… [PAYER_KEY=0x…] node docs/payments/pay-signed.mjs word-count
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { wrapFetchWithPayment, x402Client, x402HTTPClient } from '@x402/fetch';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';

const payer = privateKeyToAccount(process.env.PAYER_KEY ?? generatePrivateKey());
const client = new x402Client().register('eip155:*', new ExactEvmScheme(payer));
const response = await wrapFetchWithPayment(fetch, client)(`${process.env.BASE_URL ?? 'http://localhost:3000'}/api/v1/gateway/${process.argv[2]}`, {
  method: 'POST',
  headers: { authorization: `Bearer ${process.env.KEY}`, 'content-type': 'application/json' },
  body: JSON.stringify({ text: 'to be or not to be' }),
});
console.log(response.status, await response.text());
if (response.headers.has('payment-response')) console.log(new x402HTTPClient(client).getPaymentSettleResponse((name) => response.headers.get(name)));
