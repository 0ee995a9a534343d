import type { WalletChoice } from './connected-wallet.js';

interface Account {
  address: string;
}
interface StandardWallet {
  name: string;
  icon: string;
  features: {
    'standard:connect'?: { connect(): Promise<{ accounts: readonly Account[] }> };
    'solana:signMessage'?: {
      signMessage(input: { account: Account; message: Uint8Array }): Promise<readonly { signature: Uint8Array }[]>;
    };
  };
}
interface Registry {
  register(...wallets: StandardWallet[]): () => void;
}

/**
 * Reports every Solana wallet in the browser that can sign messages. Source:
 * github.com/wallet-standard/wallet-standard.
 */
export function watchSolanaWallets(found: (wallet: WalletChoice) => void): () => void {
  const registry: Registry = {
    register(...wallets) {
      for (const wallet of wallets) {
        const { 'standard:connect': connect, 'solana:signMessage': sign } = wallet.features;
        if (connect && sign) found(choiceOf(wallet, connect, sign));
      }
      return () => {};
    },
  };
  const onRegister = (({ detail }: CustomEvent<(registry: Registry) => void>) =>
    detail(registry)) as unknown as EventListener;
  window.addEventListener('wallet-standard:register-wallet', onRegister);
  window.dispatchEvent(new CustomEvent('wallet-standard:app-ready', { detail: registry }));
  return () => window.removeEventListener('wallet-standard:register-wallet', onRegister);
}

const choiceOf = (
  { name, icon }: StandardWallet,
  connector: NonNullable<StandardWallet['features']['standard:connect']>,
  signer: NonNullable<StandardWallet['features']['solana:signMessage']>,
): WalletChoice => ({
  id: `solana ${name}`,
  name,
  icon,
  async connect() {
    const [account] = (await connector.connect()).accounts;
    if (!account) throw new Error(`${name} shared no account.`);
    return {
      address: account.address,
      async sign(message) {
        const [signed] = await signer.signMessage({ account, message: new TextEncoder().encode(message) });
        return btoa(String.fromCharCode(...signed!.signature));
      },
    };
  },
});
