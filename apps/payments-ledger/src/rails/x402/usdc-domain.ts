/**
 * The chains whose USDC contract returns "USD Coin" from name(), which is part of its EIP-712 domain. For other chains
 * the domain of the test chains is used.
 */
const USD_COIN_CHAINS = new Set(['eip155:1', 'eip155:10', 'eip155:137', 'eip155:8453', 'eip155:42161']);

export const usdcDomain = (network: string): { name: string; version: string } => ({
  name: USD_COIN_CHAINS.has(network) ? 'USD Coin' : 'USDC',
  version: '2',
});
