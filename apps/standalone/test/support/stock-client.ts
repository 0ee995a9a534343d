import { ExactEvmScheme } from '@x402/evm/exact/client';
import { wrapFetchWithPayment, x402Client } from '@x402/fetch';
import { generatePrivateKey, privateKeyToAccount, type PrivateKeyAccount } from 'viem/accounts';

/** The unmodified client of `@x402/fetch`: it signs for a wallet whenever it is asked to pay on an EVM chain. */
export const payingFetch = (account: PrivateKeyAccount = privateKeyToAccount(generatePrivateKey())): typeof fetch =>
  wrapFetchWithPayment(fetch, new x402Client().register('eip155:*', new ExactEvmScheme(account)));

export const jsonPost = (body: unknown, headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
});
