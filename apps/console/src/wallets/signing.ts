/** Loaded only when this page signs something, because the elliptic curves are a third of the console's code. */
export { evmWallet } from '@market/sdk';
