import type { SignedTransaction } from './exact-solana.js';
import { DEFAULT_COIN_PRICES, gasLimitOf, isTooCostlyOnSolana } from './settlement-cost.js';

const NETWORK = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp';
const budget = (data: Buffer) => ({ program: 'ComputeBudget111111111111111111111111111111', accounts: [], data });
const limit = (units: number) => budget(Buffer.from([2, ...Buffer.from(new Uint32Array([units]).buffer)]));
const price = (microLamports: bigint) =>
  budget(Buffer.from([3, ...Buffer.from(new BigUint64Array([microLamports]).buffer)]));
const transaction = (instructions: object[], signers = 2): SignedTransaction =>
  ({ instructions, signers: Array.from({ length: signers }, () => ({})) }) as unknown as SignedTransaction;
const isTooCostly = (instructions: object[], feeMicros: bigint, signers?: number): boolean =>
  isTooCostlyOnSolana(transaction(instructions, signers), NETWORK, feeMicros, DEFAULT_COIN_PRICES);

describe('what a settlement costs', () => {
  it.each([
    ['what stock clients ask for', [limit(20_000), price(1n)], 0n, false],
    ['the attack', [limit(1_400_000), price(5_000_000n)], 50n, true],
    ['the attack, at any fee', [limit(1_400_000), price(5_000_000n)], 10n ** 9n, true],
    ['a price without a limit', [price(1_000_000n)], 50n, true],
    ['a limit without a price', [limit(1_400_000)], 0n, false],
    ['two limits', [limit(1), limit(1_400_000), price(1_000n)], 50n, true],
    ['an additional fee', [budget(Buffer.from([0, 0, 0, 0, 0, 255, 255, 0, 0]))], 50n, true],
    // A fee of $0.0125 is worth 31,250 lamports.
    ['as much as the fee', [limit(1_000_000), price(31_250n)], 12_500n, false],
    ['more than the fee', [limit(1_000_000), price(31_251n)], 12_500n, true],
  ] as const)('is bounded on Solana: %s', (_what, instructions, feeMicros, expected) => {
    expect(isTooCostly([...instructions], feeMicros)).toBe(expected);
  });

  it('counts further signatures on Solana', () => {
    expect(isTooCostly([limit(20_000), price(1n)], 50n, 3)).toBe(true);
    expect(isTooCostly([limit(20_000), price(1n)], 12_500n, 3)).toBe(false);
  });

  it('is bounded in gas by the fee, and in any case', () => {
    const gwei = 10n ** 9n;
    expect(gasLimitOf('eip155:8453', 0n, gwei, DEFAULT_COIN_PRICES)).toBe(150_000n);
    // $0.50 buys 0.0001 of a coin of $5,000, which is 100,000 gas at one gwei.
    expect(gasLimitOf('eip155:8453', 500_000n, gwei, DEFAULT_COIN_PRICES)).toBe(250_000n);
    expect(gasLimitOf('eip155:8453', 10n ** 12n, 0n, DEFAULT_COIN_PRICES)).toBe(500_000n);
    expect(gasLimitOf('eip155:137', 500_000n, gwei, new Map([...DEFAULT_COIN_PRICES, ['eip155:137', 10_000n]]))).toBe(
      200_000n,
    );
  });
});
