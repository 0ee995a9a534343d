import { parseDecimal, type Micros } from '@market/kernel';
import { getAddress, isAddress, type Address } from 'viem';
import { z } from 'zod';

export type PriceSetting =
  | { kind: 'fixed'; micros: Micros }
  | { kind: 'chainlink'; network: string; aggregator: Address }
  /** Pointers are of RFC 6901; without one for the time, a price is of the moment it was asked for. */
  | { kind: 'http'; url: string; pricePointer: string; timePointer: string | null };

const DEAREST: Micros = 1_000_000_000_000n;
const POINTER = /^(\/[^,]*)(?:,(\/[^,]*))?$/;

/** `fixed:3000.00`, `chainlink:eip155:1:0x…` or `http:https://host/path#/price,/time`. */
export function parsePriceSetting(text: string): PriceSetting | null {
  const [kind, value] = [text.slice(0, text.indexOf(':')), text.slice(text.indexOf(':') + 1)];
  if (kind === 'fixed') return fixed(value);
  if (kind === 'chainlink') return chainlink(value);
  return kind === 'http' ? http(value) : null;
}

/** For `.transform` of a variable's text. */
export const priceSetting = (text: string, context: z.RefinementCtx): PriceSetting => {
  const setting = parsePriceSetting(text);
  if (setting) return setting;
  context.addIssue('must be fixed:3000.00, chainlink:eip155:1:0x… or http:https://host/path#/pointer/to/price[,/pointer/to/time]');
  return z.NEVER;
};

function fixed(value: string): PriceSetting | null {
  const micros = parseDecimal(value, 6);
  return micros !== null && micros > 0n && micros <= DEAREST ? { kind: 'fixed', micros } : null;
}

function chainlink(value: string): PriceSetting | null {
  const [, network, aggregator] = /^(eip155:[1-9]\d{0,15}):(0x[0-9a-fA-F]{40})$/.exec(value) ?? [];
  return network && aggregator && isAddress(aggregator, { strict: false }) ? { kind: 'chainlink', network, aggregator: getAddress(aggregator) } : null;
}

function http(value: string): PriceSetting | null {
  const [address, pointers] = [value.slice(0, value.indexOf('#')), value.slice(value.indexOf('#') + 1)];
  const [, pricePointer, timePointer] = POINTER.exec(pointers) ?? [];
  if (pricePointer === undefined || !URL.canParse(address) || !/^https?:\/\//.test(address)) return null;
  return { kind: 'http', url: address, pricePointer, timePointer: timePointer ?? null };
}
