import { ExactEvmScheme } from '@x402/evm/exact/client';
import { UptoEvmScheme } from '@x402/evm/upto/client';
import { wrapFetchWithPayment, x402Client } from '@x402/fetch';
import { evm, Mppx } from 'mppx/client';
import { generatePrivateKey, privateKeyToAccount, type PrivateKeyAccount } from 'viem/accounts';

type Signer = ConstructorParameters<typeof ExactEvmScheme>[0];

/** The unmodified client of `@x402/fetch`: it signs for a wallet whenever it is asked to pay on an EVM chain. */
export const payingFetch = (account: Signer = privateKeyToAccount(generatePrivateKey()), send = fetch): typeof fetch =>
  wrapFetchWithPayment(send, new x402Client().register('eip155:*', new ExactEvmScheme(account)));

/** The same for `upto`: it signs the most that a call can cost. */
export const payingUpto = (account: Signer = privateKeyToAccount(generatePrivateKey()), send = fetch): typeof fetch =>
  wrapFetchWithPayment(send, new x402Client().register('eip155:*', new UptoEvmScheme(account)));

/** What the unmodified clients of `mppx` pay with in the Machine Payments Protocol: USDC of Base and Base Sepolia. */
export const mppMethods = (account: PrivateKeyAccount = privateKeyToAccount(generatePrivateKey())) => [
  evm.charge({ account, currencies: [evm.assets.base.USDC, evm.assets.baseSepolia.USDC] }),
];

/** The unmodified client of `mppx` for HTTP. */
export const mppClient = (account?: PrivateKeyAccount, send: typeof fetch = fetch) =>
  Mppx.create({ polyfill: false, fetch: send, methods: mppMethods(account) });

/** A `fetch` that counts what it sends. */
export function counting(): { send: typeof fetch; sent(): number } {
  let sent = 0;
  return { send: (input, init) => ((sent += 1), fetch(input, init)), sent: () => sent };
}

export const jsonPost = (body: unknown, headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
});
