/** USDC's EIP-712 domain on each chain, as its contract says in name() and version(); elsewhere it is as on the test chains. */
const USD_COIN_CHAINS = new Set(['eip155:1', 'eip155:10', 'eip155:137', 'eip155:8453', 'eip155:42161']);

export const usdcDomain = (network: string): { name: string; version: string } => ({
  name: USD_COIN_CHAINS.has(network) ? 'USD Coin' : 'USDC',
  version: '2',
});
