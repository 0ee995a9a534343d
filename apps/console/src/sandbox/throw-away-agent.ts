import type { Data, Wallet } from '@market/sdk';
import { exchange, type Exchange } from './exchange.js';
import { work } from './proof-of-work.js';

/**
 * An agent of the sandbox that exists as long as the browser's tab. Its key may be stored here, because its money is
 * simulated.
 */
export interface ThrowAwayAgent {
  id: string;
  address: string;
  privateKey: string;
  authorization: string;
}

const KEPT = 'market.throw-away-agent';

export function keptAgent(): ThrowAwayAgent | undefined {
  const text = sessionStorage.getItem(KEPT);
  return text === null ? undefined : (JSON.parse(text) as ThrowAwayAgent);
}

export const forgetAgent = (): void => sessionStorage.removeItem(KEPT);

/**
 * Registers an agent: a challenge, a signature, a proof of work. It sends plain requests, because the page shows each
 * of them and the SDK's `register` does not report them.
 */
export async function registerAgent(
  tell: (exchange: Exchange) => void,
  onProgress: (share: number) => void,
): Promise<ThrowAwayAgent> {
  const { evmWallet } = await import('../wallets/signing.js');
  const wallet = evmWallet();
  const challenge = await exchange('POST', '/auth/challenge', { body: { wallet_address: wallet.address } });
  tell(challenge);
  const { message, nonce, pow } = challenge.data as Data<'createChallenge'>;
  const registration = await exchange('POST', '/register', {
    body: {
      wallet_address: wallet.address,
      signature: await wallet.sign(message),
      nonce,
      pow_nonce: await work(pow, onProgress),
      display_name: 'Visitor of the sandbox',
    },
  });
  tell({ ...registration, shown: withoutKey(registration.shown) });
  const { user_id: id, authorization_header: authorization } = registration.data as Data<'register'>;
  const agent = { id, address: wallet.address, privateKey: wallet.exportKey(), authorization };
  sessionStorage.setItem(KEPT, JSON.stringify(agent));
  return agent;
}

export async function walletOf(agent: ThrowAwayAgent): Promise<Wallet> {
  const { evmWallet } = await import('../wallets/signing.js');
  return evmWallet(agent.privateKey as `0x${string}`);
}

/** Keys are never shown, not even those of the sandbox, because users copy what examples do. */
const withoutKey = (shown: unknown): unknown =>
  JSON.parse(JSON.stringify(shown).replaceAll(/am_k_[A-Za-z0-9_]+/g, 'am_k_…'));
