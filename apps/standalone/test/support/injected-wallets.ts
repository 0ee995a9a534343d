/// <reference lib="dom" />
import { ed25519 } from '@noble/curves/ed25519';
import bs58 from 'bs58';
import type { BrowserContext } from 'playwright-core';
import type { Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';

/**
 * Adds a wallet to every page of a window, like an extension that announces itself by EIP-6963.
 * @returns the messages that it signed.
 */
export async function injectEvmWallet(context: BrowserContext, key: Hex): Promise<string[]> {
  const account = privateKeyToAccount(key);
  const signed: string[] = [];
  await context.exposeBinding('signWithEvm', (_source, message: Hex) => {
    signed.push(Buffer.from(message.slice(2), 'hex').toString());
    return account.signMessage({ message: { raw: message } });
  });
  await context.exposeBinding('signTypedWithEvm', (_source, typed: string) => {
    const { types, ...data } = JSON.parse(typed) as Parameters<typeof account.signTypedData>[0];
    return account.signTypedData({ ...data, types });
  });
  await context.addInitScript((address) => {
    const { signWithEvm, signTypedWithEvm } = window as unknown as Record<string, (text: string) => Promise<string>>;
    const request = async ({ method, params }: { method: string; params?: string[] }): Promise<unknown> => {
      if (method === 'eth_requestAccounts') return [address];
      if (method === 'personal_sign' && params?.[1] === address) return signWithEvm!(params[0]!);
      if (method === 'wallet_switchEthereumChain') return null;
      if (method === 'eth_signTypedData_v4' && params?.[0] === address) return signTypedWithEvm!(params[1]!);
      throw new Error(`${method} is not supported`);
    };
    const detail = Object.freeze({
      info: {
        uuid: '350670db-19fa-4704-a166-e52e178b59d2',
        name: 'Injected EVM',
        icon: 'data:image/svg+xml,<svg/>',
        rdns: 'test',
      },
      provider: { request },
    });
    const announce = (): boolean => window.dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }));
    window.addEventListener('eip6963:requestProvider', announce);
    announce();
  }, account.address);
  return signed;
}

/** Adds a Solana wallet that registers itself by the Wallet Standard. */
export async function injectSolanaWallet(context: BrowserContext): Promise<{ address: string; signed: string[] }> {
  const key = ed25519.utils.randomPrivateKey();
  const address = bs58.encode(ed25519.getPublicKey(key));
  const signed: string[] = [];
  await context.exposeBinding('signWithSolana', (_source, message: number[]) => {
    signed.push(Buffer.from(message).toString());
    return [...ed25519.sign(Uint8Array.from(message), key)];
  });
  await context.addInitScript((account) => {
    const { signWithSolana } = window as unknown as { signWithSolana(message: number[]): Promise<number[]> };
    const wallet = {
      name: 'Injected Solana',
      icon: 'data:image/svg+xml,<svg/>',
      features: {
        'standard:connect': { connect: async () => ({ accounts: [{ address: account }] }) },
        'solana:signMessage': {
          signMessage: async ({ message }: { message: Uint8Array }) => [
            { signature: Uint8Array.from(await signWithSolana([...message])) },
          ],
        },
      },
    };
    type Registry = { register(added: typeof wallet): void };
    const register = (registry: Registry): void => registry.register(wallet);
    window.addEventListener('wallet-standard:app-ready', ((event: CustomEvent<Registry>) =>
      register(event.detail)) as unknown as EventListener);
    window.dispatchEvent(new CustomEvent('wallet-standard:register-wallet', { detail: register }));
  }, address);
  return { address, signed };
}
