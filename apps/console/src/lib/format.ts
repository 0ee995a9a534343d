/** Amounts are computed in micros, millionths of a dollar, like in the ledger. The API uses dollars or cents. */
export const microsOfUsd = (usd: number): number => Math.round(usd * 1_000_000);
export const microsOfCents = (cents: number): number => Math.round(cents * 10_000);

const dollars = (most: number) =>
  new Intl.NumberFormat(undefined, {
    style: 'currency',
    currency: 'USD',
    minimumFractionDigits: 2,
    maximumFractionDigits: most,
  });
const short = dollars(4);
const exact = dollars(6);

export const shortUsd = (micros: number): string => short.format(micros / 1_000_000);
export const exactUsd = (micros: number): string => exact.format(micros / 1_000_000);

const SHORT_TIME = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const EXACT_TIME = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' });
const DAY = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });
const MONTH = new Intl.DateTimeFormat(undefined, { year: 'numeric', month: 'long', timeZone: 'UTC' });
const COUNT = new Intl.NumberFormat();

export const shortTime = (iso: string): string => SHORT_TIME.format(new Date(iso));
export const exactTime = (iso: string): string => EXACT_TIME.format(new Date(iso));
export const dayName = (date: Date): string => DAY.format(date);
/** Formats `2026-11` and `2026-Q4`. Another text is returned unchanged. */
export const periodName = (period: string): string => {
  const at = Date.parse(`${period}-01T00:00:00Z`);
  return Number.isNaN(at) ? period.replace(/^(\d{4})-(Q\d)$/, '$2 $1') : MONTH.format(at);
};
export const count = (value: number): string => COUNT.format(value);
export const percent = (share: number): string =>
  new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 }).format(share);

export const milliseconds = (ms: number): string =>
  ms < 1_000 ? `${COUNT.format(Math.round(ms))} ms` : `${COUNT.format(Math.round(ms / 100) / 10)} s`;

/** Returns the beginning and the end of an address or a hash, which people compare. */
export const shortened = (text: string): string => (text.length > 16 ? `${text.slice(0, 8)}…${text.slice(-6)}` : text);

const NETWORKS: Record<string, string> = {
  'eip155:1': 'Ethereum',
  'eip155:8453': 'Base',
  'eip155:84532': 'Base Sepolia',
  'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp': 'Solana',
  'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1': 'Solana Devnet',
};

/** The name of a chain, or its CAIP-2 id if it is a rare one. */
export const networkName = (network: string): string => NETWORKS[network] ?? network;

/** Formats `seller_failed` as words. */
export const words = (code: string): string => code.replaceAll('_', ' ');
