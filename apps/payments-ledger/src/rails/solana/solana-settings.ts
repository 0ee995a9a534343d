import { address, isAddress, type Address } from '@solana/kit';
import { z } from 'zod';
import { rpcUrlsOf } from '../rpc-urls.js';

/** USDC as its issuer made it. Source: developers.circle.com/stablecoins/usdc-contract-addresses. */
export const USDC: Record<string, Address> = {
  'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp': address('EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'),
  'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1': address('4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU'),
};

export interface SolanaChainSettings {
  /** CAIP-2 id: the first 32 characters of the genesis hash are its reference. */
  network: string;
  /** One, or two that must agree before anything is credited. */
  rpcUrls: string[];
  /** The mint that is USDC there. */
  usdc: Address | null;
}

/** `solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp=https://a|https://b,…`: a chain, and one or two RPC servers that must agree. */
export const solanaRpcUrls = rpcUrlsOf(pairsOf);

/** `solana:…=<mint>`: the one mint that is USDC on a chain. */
export const solanaMints = z.string().transform((text, context) => {
  const mints = new Map<string, Address>();
  for (const [network, value] of pairsOf(text, context)) {
    if (isAddress(value)) mints.set(network, value);
    else context.addIssue(`${network} needs the address of a mint`);
  }
  return mints;
});

/** SLIP-0010 takes 128 to 512 bits; less than 256 would be the weakest part of a key. */
export const solanaSeed = z
  .string()
  .refine((text) => /^([0-9a-fA-F]{2}){32,64}$/.test(text), 'must be 64 to 128 hex digits')
  .transform((text) => Buffer.from(text, 'hex'));

/** An account's address. */
export const solanaAddress = z
  .string()
  .refine((text) => isAddress(text), 'must be an address of Solana')
  .transform((text) => address(text));

function pairsOf(text: string, context: z.RefinementCtx): [network: string, value: string][] {
  return text.split(',').flatMap((pair) => {
    const [, network, value] = /^(solana:[1-9A-HJ-NP-Za-km-z]{32})=(.+)$/.exec(pair.trim()) ?? [];
    if (network !== undefined && value !== undefined) return [[network, value] as [string, string]];
    context.addIssue('it is a list of chain=value with CAIP-2 ids, as in solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp=https://…');
    return [];
  });
}

export function solanaChainsOf(urls: Map<string, string[]>, mints: Map<string, Address>): SolanaChainSettings[] {
  return [...urls].map(([network, rpcUrls]) => ({ network, rpcUrls, usdc: mints.get(network) ?? USDC[network] ?? null }));
}
