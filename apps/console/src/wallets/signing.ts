/** Loaded only when this page signs something, because the elliptic curves are a third of the console's code. */
export { evmWallet, x402Payer } from '@market/sdk';
