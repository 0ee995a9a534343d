import bs58 from 'bs58';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { newEd25519Wallet } from './ed25519-wallet.js';

export interface TestWallet {
  address: string;
  sign(message: string): Promise<string>;
}

export function evmTestWallet(): TestWallet {
  const account = privateKeyToAccount(generatePrivateKey());
  return { address: account.address, sign: (message) => account.signMessage({ message }) };
}

export function solanaTestWallet(): TestWallet {
  const wallet = newEd25519Wallet();
  return {
    address: bs58.encode(wallet.publicKey),
    sign: async (message) => bs58.encode(wallet.sign(Buffer.from(message))),
  };
}
