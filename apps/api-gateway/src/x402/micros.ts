import { parseDecimal } from '@market/kernel';

/** @param usd as the catalog shows it: it has at most 6 decimals, which a number of this size represents exactly. */
export const microsOf = (usd: number): string => parseDecimal(usd.toFixed(6), 6)!.toString();
