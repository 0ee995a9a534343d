import { x402Payer, type Offer } from '@market/sdk';
import { privateKeyToAccount } from 'viem/accounts';
import { USDC } from './assets.js';

const account = privateKeyToAccount(`0x${'11'.repeat(32)}`);
const evm = Object.entries(USDC).filter(([network]) => network.startsWith('eip155:'));

it.each(evm)('asks on %s for the USDC that the client knows, and for no other', (network, asset) => {
  const offer = (token: string) =>
    ({
      x402: { accepts: [{ scheme: 'exact', network, asset: token, extra: { name: 'USDC', version: '2' } }] },
    }) as unknown as Offer;
  const payer = x402Payer(account, { [network]: {} });
  expect([payer.canPay(offer(asset)), payer.canPay(offer(account.address))]).toEqual([true, false]);
});
