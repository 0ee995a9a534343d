import type { Currency } from '@market/contracts';
import { parseDecimal, type Micros } from '@market/kernel';
import { zeroAddress } from 'viem';
import { z } from 'zod';
import { ETH_CHAINS, USDC } from '../assets.js';

/** A currency on a chain, with the marketplace's names and Relay's. */
export interface RelayAsset {
  /** CAIP-2 id. */
  network: string;
  currency: Currency;
  decimals: number;
  chainType: 'evm' | 'solana';
  /** Relay's number of the chain: the chain's own id for EVM chains, otherwise a number that Relay assigned. */
  chainId: number;
  /** Relay's identifier of the currency: its contract or mint, or the zero address for the native coin of the chain. */
  address: string;
}

/** A currency on a chain in which buyers may pay, with its lowest price in micros. */
export interface RelayRoute extends RelayAsset {
  minimumMicros: Micros;
}

/** Source: docs.relay.link, chains. */
const SOLANA_CHAINS: Record<string, number> = {
  'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp': 792_703_809,
  'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1': 1_936_682_084,
};
const SOLANA_COIN = '11111111111111111111111111111111';

/** Relay charges $0.02 and the gas of its transactions, whatever the price is. */
const MIN_PRICE: Record<RelayAsset['chainType'], Micros> = { evm: 100_000n, solana: 10_000n };

const PLACE = /^((?:eip155|solana):[0-9A-Za-z]{1,32}):(USDC|ETH|SOL)(?:=([\d.]+))?$/;

/**
 * Parses `eip155:8453:ETH=0.25,solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp:SOL`: where buyers may pay, with the lowest
 * price in dollars.
 */
export const relayRoutes = (text: string, context: z.RefinementCtx): RelayRoute[] =>
  text.split(',').flatMap((entry) => {
    const { place, least } = read(entry.trim());
    const minimumMicros = least === undefined ? place && MIN_PRICE[place.chainType] : parseDecimal(least, 6);
    if (place && minimumMicros) return [{ ...place, minimumMicros }];
    context.addIssue(
      'it is a list of chain:currency with CAIP-2 ids, each with a least price in US dollars if need be, as in eip155:8453:ETH=0.25',
    );
    return [];
  });

/**
 * The chain on which sellers are paid. The currency is USDC only, so that the received amount equals the price without
 * an exchange rate.
 */
export const relayDestination = (text: string, context: z.RefinementCtx): RelayAsset => {
  const { place, least } = read(text);
  if (place?.currency === 'USDC' && least === undefined) return place;
  context.addIssue('must be USDC on a chain where its issuer made it, as in eip155:8453:USDC');
  return z.NEVER;
};

function read(text: string): { place: RelayAsset | undefined; least: string | undefined } {
  const [, network, currency, least] = PLACE.exec(text) ?? [];
  return { place: network && currency ? assetOf(network, currency as Currency) : undefined, least };
}

/** Returns undefined for a currency that Relay is not known to serve. */
export function assetOf(network: string, currency: Currency): RelayAsset | undefined {
  return network.startsWith('eip155:') ? evmAsset(network, currency) : solanaAsset(network, currency);
}

function evmAsset(network: string, currency: Currency): RelayAsset | undefined {
  const place = { network, currency, chainType: 'evm', chainId: Number(network.slice('eip155:'.length)) } as const;
  if (!Number.isSafeInteger(place.chainId) || place.chainId <= 0) return undefined;
  const usdc = USDC[network];
  if (currency === 'USDC' && usdc) return { ...place, decimals: 6, address: usdc };
  return currency === 'ETH' && ETH_CHAINS.has(network) ? { ...place, decimals: 18, address: zeroAddress } : undefined;
}

function solanaAsset(network: string, currency: Currency): RelayAsset | undefined {
  const [chainId, usdc] = [SOLANA_CHAINS[network], USDC[network]];
  if (chainId === undefined || usdc === undefined) return undefined;
  const place = { network, currency, chainType: 'solana', chainId } as const;
  if (currency === 'USDC') return { ...place, decimals: 6, address: usdc };
  return currency === 'SOL' ? { ...place, decimals: 9, address: SOLANA_COIN } : undefined;
}
