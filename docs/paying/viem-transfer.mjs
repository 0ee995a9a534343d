// Calls a listing, sends what it asks for in ETH or USDC, and repeats the call until the chain calls the transfer final:
//   KEY=am_k_… PAYER_KEY=0x… RPC_URL=https://… CHAIN_ID=84532 [CURRENCY=USDC USDC=0x…] node docs/paying/viem-transfer.mjs word-count
import { setTimeout } from 'node:timers/promises';
import { createWalletClient, erc20Abi, http } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';

const { KEY, PAYER_KEY, RPC_URL, CHAIN_ID, CURRENCY = 'ETH', USDC, BASE_URL = 'http://localhost:3000' } = process.env;
const call = (headers) =>
  fetch(`${BASE_URL}/api/v1/gateway/${process.argv[2]}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ text: 'to be or not to be' }),
  });

const asked = await call({ 'X-Market-Origin-Chain-Id': CHAIN_ID, 'X-Market-Origin-Currency': CURRENCY });
const { payment } = (await asked.json()).data;
const { depositAddress, amount, amount_base_units: baseUnits, currency, network } = payment.requirements;
console.log(asked.status, `${amount} ${currency} on ${network} to ${depositAddress}`);

const payer = createWalletClient({ account: privateKeyToAccount(PAYER_KEY), transport: http(RPC_URL) });
const sent =
  currency === 'ETH'
    ? await payer.sendTransaction({ chain: null, to: depositAddress, value: BigInt(baseUnits) })
    : await payer.writeContract({ chain: null, address: USDC, abi: erc20Abi, functionName: 'transfer', args: [depositAddress, BigInt(baseUnits)] });
console.log('sent', sent);

for (;;) {
  const answer = await call(payment.retry_headers);
  console.log(answer.status, await answer.text());
  if (answer.status !== 202) break;
  await setTimeout(Number(answer.headers.get('retry-after') ?? 2) * 1000);
}
