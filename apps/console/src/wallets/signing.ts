/** Loaded only where something is signed in this page: the curves are a third of all its code. */
export { evmWallet } from '@market/sdk';
