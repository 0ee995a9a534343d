import type { WalletChoice } from './connected-wallet.js';

const KEPT = 'market.test-wallet';

/**
 * A wallet that is created in this browser for the sandbox. Its key is in the tab's storage and is deleted with the
 * tab.
 */
export const testWallet: WalletChoice = {
  id: 'test',
  name: 'Test wallet',
  canPay: true,
  async connect() {
    const { evmWallet } = await import('./signing.js');
    const wallet = evmWallet((sessionStorage.getItem(KEPT) ?? undefined) as `0x${string}` | undefined);
    sessionStorage.setItem(KEPT, wallet.exportKey());
    return wallet;
  },
};
