/**
 * The addresses of USDC by CAIP-2 id: contracts on EVM chains, mints on Solana. Source:
 * developers.circle.com/stablecoins/usdc-contract-addresses.
 */
export const USDC: Record<string, string> = {
  'eip155:1': '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48',
  'eip155:10': '0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85',
  'eip155:137': '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
  'eip155:8453': '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  'eip155:42161': '0xaf88d065e77c8cC2239327C5EDb3A432268e5831',
  'eip155:84532': '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  'eip155:11155111': '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238',
  'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp': 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
  'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1': '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU',
};

/**
 * Ethereum, OP Mainnet, Unichain, Base, Arbitrum, Linea, Scroll and their test networks: EVM chains whose native coin
 * is ETH.
 */
export const ETH_CHAINS: ReadonlySet<string> = new Set(
  [1, 10, 130, 8_453, 42_161, 59_144, 534_352, 11_155_111, 11_155_420, 84_532, 421_614, 59_141, 534_351].map(
    (chainId) => `eip155:${chainId}`,
  ),
);
