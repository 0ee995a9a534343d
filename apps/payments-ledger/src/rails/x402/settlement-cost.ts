import { z } from 'zod';
import type { SignedTransaction } from './exact-solana.js';

/** The reason against a signature whose settlement its payer has made too expensive. */
export const TOO_COSTLY = 'settlement_too_costly';

const COMPUTE_BUDGET = 'ComputeBudget111111111111111111111111111111';
const [REQUEST_UNITS, SET_UNIT_LIMIT, SET_UNIT_PRICE] = [0, 2, 3];
const UNITS_OF_AN_INSTRUCTION = 200_000n;
const MOST_UNITS = 1_400_000n;
const LAMPORTS_OF_A_SIGNATURE = 5_000n;
/** The fee payer and the payer. */
const ORDINARY_SIGNATURES = 2n;
export const ORDINARY_LAMPORTS = ORDINARY_SIGNATURES * LAMPORTS_OF_A_SIGNATURE;
/** A stock client pays one lamport; these are worth less than the fee of the cheapest call. */
const ORDINARY_EXTRA_LAMPORTS = 100n;
const MOST_EXTRA_LAMPORTS = 100_000n;

/** A first transfer of USDC to a new recipient takes some 90,000. */
export const ORDINARY_GAS = 150_000n;
const MOST_EXTRA_GAS = 350_000n;

/** What a whole coin of a network is worth in US dollars, by CAIP-2 id or namespace. */
export type CoinPrices = Map<string, bigint>;

/** Parses `eip155=5000,solana=400,eip155:137=1`. */
export const coinPrices = (text: string, context: z.RefinementCtx): CoinPrices => {
  const prices: CoinPrices = new Map();
  for (const entry of text.split(',')) {
    const [, network, usd] = /^((?:eip155|solana)(?::[\w-]{1,32})?)=([1-9]\d{0,6})$/.exec(entry.trim()) ?? [];
    if (network !== undefined && usd !== undefined) prices.set(network, BigInt(usd));
    else context.addIssue('it is a list of chain=dollars, as in eip155=5000,solana=400,eip155:137=1');
  }
  for (const namespace of ['eip155', 'solana'])
    if (!prices.has(namespace)) context.addIssue(`it has no ${namespace}=…, which every other chain of its kind has`);
  return prices;
};

export const DEFAULT_COIN_PRICES_TEXT = 'eip155=5000,solana=400';
export const DEFAULT_COIN_PRICES = z.string().transform(coinPrices).parse(DEFAULT_COIN_PRICES_TEXT);

/** How many of the smallest units of a network's coin, 10^decimals of which are a coin, an amount of micros buys. */
function unitsFor(micros: bigint, network: string, prices: CoinPrices, decimals: bigint): bigint {
  const usd = prices.get(network) ?? prices.get(network.split(':')[0]!)!;
  return (micros * 10n ** decimals) / (usd * 1_000_000n);
}

const least = (one: bigint, other: bigint): bigint => (one < other ? one : other);
const most = (one: bigint, other: bigint): bigint => (one > other ? one : other);

/**
 * The most gas that a settlement may take: that of an ordinary one, and beyond it what the fee of the sale pays for. A
 * payer with code can make it take any amount.
 */
export const gasLimitOf = (network: string, feeMicros: bigint, gasPrice: bigint, prices: CoinPrices): bigint =>
  ORDINARY_GAS + least(unitsFor(feeMicros, network, prices, 18n) / most(gasPrice, 1n), MOST_EXTRA_GAS);

/**
 * Whether a payer has made its transaction cost the fee payer more than an ordinary one by more than the fee of the
 * sale: with compute units and their price, or with further signatures.
 */
export function isTooCostlyOnSolana(
  transaction: SignedTransaction,
  network: string,
  feeMicros: bigint,
  prices: CoinPrices,
): boolean {
  const allowed = most(ORDINARY_EXTRA_LAMPORTS, least(unitsFor(feeMicros, network, prices, 9n), MOST_EXTRA_LAMPORTS));
  return extraLamports(transaction) > allowed;
}

function extraLamports({ instructions, signers }: SignedTransaction): bigint {
  const budget = instructions.filter(({ program }) => program === COMPUTE_BUDGET).map(({ data }) => data);
  // The additional fee of this instruction, which no cluster takes any more.
  if (budget.some((data) => data[0] === REQUEST_UNITS)) return MOST_EXTRA_LAMPORTS + 1n;
  const limits = budget.filter((data) => data[0] === SET_UNIT_LIMIT && data.length >= 5);
  const prices = budget.filter((data) => data[0] === SET_UNIT_PRICE && data.length >= 9);
  const byDefault = least(BigInt(instructions.length) * UNITS_OF_AN_INSTRUCTION, MOST_UNITS);
  const units = limits.length > 0 ? limits.map((data) => BigInt(data.readUInt32LE(1))).reduce(most) : byDefault;
  const price = prices.map((data) => data.readBigUInt64LE(1)).reduce(most, 0n);
  const signatures = most(BigInt(signers.length) - ORDINARY_SIGNATURES, 0n) * LAMPORTS_OF_A_SIGNATURE;
  return (units * price + 999_999n) / 1_000_000n + signatures;
}
