import { useEffect, useState } from 'react';
import type { WalletChoice } from './connected-wallet.js';
import { watchEvmWallets } from './evm-wallets.js';
import { watchSolanaWallets } from './solana-wallets.js';

/** Returns the wallets in this browser. */
export function useWallets(): WalletChoice[] {
  const [wallets, setWallets] = useState<WalletChoice[]>([]);
  useEffect(() => {
    const add = (wallet: WalletChoice): void =>
      setWallets((known) => (known.some(({ id }) => id === wallet.id) ? known : [...known, wallet]));
    const stops = [watchEvmWallets(add), watchSolanaWallets(add)];
    return () => stops.forEach((stop) => stop());
  }, []);
  return wallets;
}
