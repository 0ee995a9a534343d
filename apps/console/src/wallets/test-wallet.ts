import type { WalletChoice } from './connected-wallet.js';

const KEPT = 'market.test-wallet';

/** A wallet made in this browser, for looking around in the sandbox; its key lies in the tab's storage and ends with it. */
export const testWallet: WalletChoice = {
  id: 'test',
  name: 'Test wallet',
  async connect() {
    const { evmWallet } = await import('./signing.js');
    const wallet = evmWallet((sessionStorage.getItem(KEPT) ?? undefined) as `0x${string}` | undefined);
    sessionStorage.setItem(KEPT, wallet.exportKey());
    return wallet;
  },
};
