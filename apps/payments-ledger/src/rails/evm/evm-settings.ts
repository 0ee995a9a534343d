import { getAddress, isAddress, type Address } from 'viem';
import { z } from 'zod';
import { rpcUrlsOf } from '../rpc-urls.js';

/** USDC as its issuer deployed it. Source: developers.circle.com/stablecoins/usdc-contract-addresses. */
export const USDC: Record<string, Address> = {
  'eip155:1': '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48',
  'eip155:10': '0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85',
  'eip155:137': '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
  'eip155:8453': '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  'eip155:42161': '0xaf88d065e77c8cC2239327C5EDb3A432268e5831',
  'eip155:84532': '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  'eip155:11155111': '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238',
};

/** Chains whose own coin is ETH; of others only tokens are taken. Those of Ethereum, OP Mainnet, Unichain, Base, Arbitrum, Linea, Scroll, of their test networks, and of local nodes. */
const OWN_COIN_IS_ETH = new Set([1, 10, 130, 8_453, 42_161, 59_144, 534_352, 11_155_111, 11_155_420, 84_532, 421_614, 59_141, 534_351, 31_337, 31_338, 1_337].map((chainId) => `eip155:${chainId}`));

export const takesEth = (network: string): boolean => OWN_COIN_IS_ETH.has(network);

export interface EvmChainSettings {
  /** CAIP-2 id. */
  network: string;
  chainId: number;
  /** One, or two that must agree before anything is credited. */
  rpcUrls: string[];
  usdc: Address | null;
  takesEth: boolean;
}

/** `eip155:8453=https://a|https://b,eip155:84532=https://c`: a chain, and one or two RPC servers that must agree. */
export const rpcUrls = rpcUrlsOf(pairsOf);

/** `eip155:31337=0x…`: the one contract that is USDC on a chain. */
export const tokenAddresses = z.string().transform((text, context) => {
  const tokens = new Map<string, Address>();
  for (const [network, value] of pairsOf(text, context)) {
    if (isAddress(value, { strict: false })) tokens.set(network, getAddress(value));
    else context.addIssue(`${network} needs the address of a contract`);
  }
  return tokens;
});

function pairsOf(text: string, context: z.RefinementCtx): [network: string, value: string][] {
  return text.split(',').flatMap((pair) => {
    const [, network, value] = /^(eip155:[1-9]\d{0,15})=(.+)$/.exec(pair.trim()) ?? [];
    if (network !== undefined && value !== undefined) return [[network, value] as [string, string]];
    context.addIssue('it is a list of chain=value with CAIP-2 ids, as in eip155:8453=https://…');
    return [];
  });
}

export function chainsOf(urls: Map<string, string[]>, tokens: Map<string, Address>): EvmChainSettings[] {
  return [...urls].map(([network, servers]) => ({
    network,
    chainId: Number(network.slice('eip155:'.length)),
    rpcUrls: servers,
    usdc: tokens.get(network) ?? USDC[network] ?? null,
    takesEth: takesEth(network),
  }));
}
