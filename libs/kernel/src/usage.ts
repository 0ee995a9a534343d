import { microsFromUsdNumber, type Micros } from './money.js';

/** How a call is priced by what it used: the price of `per` units, in US dollars, in each tier. The last has no end. */
export interface Usage {
  /** What is counted, in the seller's word: token, page, result. */
  unit: string;
  per: number;
  tiers: { up_to: number | null; price: number }[];
}

/** More cannot be told apart by every reader of JSON. */
export const MAX_UNITS = 999_999_999_999_999;

/**
 * What so many units cost: each at the price of the tier that it is in, all together rounded down to a micro, and never
 * more than `most`.
 */
export function usedMicros({ per, tiers }: Pick<Usage, 'per' | 'tiers'>, units: number, most: Micros): Micros {
  if (!isUnits(units)) throw new RangeError('units are an integer from 0');
  let [counted, priced] = [0n, 0n];
  for (const { up_to, price } of tiers) {
    const end = BigInt(up_to === null ? units : Math.min(units, up_to));
    if (end <= counted) break;
    priced += (end - counted) * microsFromUsdNumber(price)!;
    counted = end;
  }
  const used = priced / BigInt(per);
  return used < most ? used : most;
}

export const isUnits = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_UNITS;

/** Reads units as a header has them: decimal digits and nothing else. Undefined for anything else. */
export const unitsFrom = (text: unknown): number | undefined =>
  typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
