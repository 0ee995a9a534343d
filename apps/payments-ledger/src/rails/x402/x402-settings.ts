import { getAddress, isAddress, type Address } from 'viem';
import { z } from 'zod';
import { USDC } from '../assets.js';
import { isSolana } from './exact-payment.js';
import { isKnownByPermit2, knownDomain, usdcOn, type TokenDomain } from './token-facts.js';

/** An EVM chain on which signed authorizations of USDC are accepted. */
export interface X402Chain {
  /** CAIP-2 id. */
  network: string;
  chainId: number;
  usdc: Address;
  /** What its signatures are for; undefined while only the chain can tell. */
  domain?: TokenDomain;
  /** Its token takes no signatures, so that it is moved by Permit2. */
  byPermit2?: true | undefined;
  /** None, one, or two servers that must agree on the outcome of an authorization. */
  rpcUrls: string[];
}

/** A cluster of Solana on which signed transfers of USDC are accepted. */
export interface SolanaChain {
  /** CAIP-2 id. */
  network: string;
  /** The mint. */
  usdc: string;
  /** None, one, or two servers that must agree on the outcome of a transaction. */
  rpcUrls: string[];
}

const MAX_RPC_SERVERS = 2;

/**
 * Parses `eip155:8453=https://a|https://b,solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp`: chains by CAIP-2 id, each with
 * none, one or two RPC servers.
 */
export const x402Chains = z.string().transform((text, context) => {
  const chains = new Map<string, string[]>();
  for (const entry of text.split(',')) {
    const [, network, servers] =
      /^(eip155:[1-9]\d{0,15}|solana:[1-9A-HJ-NP-Za-km-z]{32})(?:=(.+))?$/.exec(entry.trim()) ?? [];
    const urls = servers?.split('|') ?? [];
    if (network === undefined)
      context.addIssue(
        'it is a list of CAIP-2 ids, each with its RPC servers if there are any, as in eip155:8453=https://…',
      );
    else if (urls.length > MAX_RPC_SERVERS || !urls.every((url) => URL.canParse(url) && /^https?:/.test(url)))
      context.addIssue(`${network} takes one or two http(s) URLs, separated by "|"`);
    else chains.set(network, urls);
  }
  return chains;
});

/** Parses `eip155:31337=0x…`: the contract of USDC on each chain. */
export const tokenAddresses = z.string().transform((text, context) => {
  const tokens = new Map<string, Address>();
  for (const entry of text.split(',')) {
    const [, network, value] = /^(eip155:[1-9]\d{0,15})=(.+)$/.exec(entry.trim()) ?? [];
    if (network !== undefined && value !== undefined && isAddress(value, { strict: false }))
      tokens.set(network, getAddress(value));
    else context.addIssue('it is a list of chain=contract with CAIP-2 ids, as in eip155:31337=0x…');
  }
  return tokens;
});

/** Returns the clusters of Solana among `chains` whose mint of USDC is known. */
export const solanaChainsOf = (chains: Map<string, string[]>): SolanaChain[] =>
  [...chains].flatMap(([network, rpcUrls]) => {
    const usdc = USDC[network];
    return usdc !== undefined && isSolana(network) ? { network, usdc, rpcUrls } : [];
  });

/** Returns the EVM chains among `chains` whose contract of USDC is known. */
export const evmChainsOf = (
  chains: Map<string, string[]>,
  tokens = new Map<string, Address>(),
  domains = new Map<string, TokenDomain>(),
): X402Chain[] =>
  [...chains].flatMap(([network, rpcUrls]) => {
    const usdc = tokens.get(network) ?? usdcOn(network);
    return usdc === undefined || isSolana(network)
      ? []
      : {
          network,
          chainId: Number(network.slice('eip155:'.length)),
          usdc: usdc as Address,
          domain: domains.get(network) ?? knownDomain(network, usdc),
          byPermit2: isKnownByPermit2(network, usdc),
          rpcUrls,
        };
  });

/** The chains without an RPC server. */
export const unwatchedChains = ({ x402Chains }: { x402Chains?: Map<string, string[]> }): string[] =>
  [...(x402Chains ?? [])].flatMap(([network, urls]) => (urls.length === 0 ? [network] : []));

/** What that means. */
export const unwatched = (network: string): string =>
  `PAYMENTS_LEDGER_X402_CHAINS: ${network} names no RPC server, so nobody but the facilitator knows what became of a ` +
  'signed payment; where it does not say, payments wait for `payments end`';
