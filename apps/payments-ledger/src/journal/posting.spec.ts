import { countOf, TEST_SEED } from '@market/test-servers/threats';
import { splitFee } from '@market/kernel';
import fc from 'fast-check';
import type { Payee } from '../rails/payment-rail.js';
import {
  accounts,
  assertBalanced,
  callCompleted,
  feesPaid,
  refundDue,
  signed,
  subscriptionStarted,
  type JournalEntry,
  type Posting,
} from './posting.js';

const sumOn = (entry: JournalEntry, address: string): bigint =>
  entry.postings
    .filter(({ account }) => account.address === address)
    .reduce((sum, posting) => sum + signed(posting), 0n);
const prices = fc.oneof(fc.bigInt({ min: 1n, max: 100n }), fc.bigInt({ min: 1n, max: 10n ** 15n }));
const feeRates = fc.integer({ min: 0, max: 10_000 });

/** The account on which the seller is credited, and the account of its fee where the fee becomes a debt. */
const BOOKED: [Payee, [credited: string, indebted?: string]][] = [
  ['operator', ['agent:s:earnings:chain:0x1']],
  ['seller', ['agent:s:received:chain:0x1', 'agent:s:fees']],
  ['split', ['agent:s:received:chain:0x1']],
];

describe.each(
  BOOKED.flatMap(([payee, booked]) => [
    ['call_completed', payee, booked, callCompleted] as const,
    ['subscription_started', payee, booked, subscriptionStarted] as const,
  ]),
)('%s, paid to the %s', (reason, payee, booked, entryOf) => {
  it('balances for every price and fee, and splits the price without a rest', () => {
    fc.assert(
      fc.property(prices, feeRates, (gross, bps) => {
        const money = splitFee(gross, bps);
        const entry = entryOf({
          paymentId: 'p',
          buyerId: 'b',
          sellerId: 's',
          money,
          paid: { payee, place: 'chain:0x1' },
        });
        assertBalanced(entry);
        const [credited, indebted] = booked;
        const sums = ['agent:b:payments', credited, 'platform:fees', indebted ?? 'none'].map((on) => sumOn(entry, on));
        expect([entry.reason, money.net + money.fee, ...sums]).toEqual([
          ...[reason, gross, -gross, indebted ? gross : money.net, money.fee, indebted ? -money.fee : 0n],
        ]);
      }),
      { seed: TEST_SEED, numRuns: countOf('postings') },
    );
  });

  it('posts no fee that rounds to nothing', () => {
    const entry = entryOf({
      paymentId: 'p',
      buyerId: 'b',
      sellerId: 's',
      money: splitFee(19n, 500),
      paid: { payee, place: 'chain:0x1' },
    });
    expect(entry.postings.map(({ type }) => type)).toEqual(['direct_payment', 'seller_credit']);
  });
});

describe('feesPaid', () => {
  it('balances, and takes off the debt what was paid', () => {
    fc.assert(
      fc.property(prices, (amountMicros) => {
        const entry = feesPaid({ paymentId: 'p', sellerId: 's', rail: 'x402', amountMicros });
        expect(() => assertBalanced(entry)).not.toThrow();
        expect(sumOn(entry, accounts.feesOf('s').address)).toBe(amountMicros);
      }),
    );
  });
});

describe('refundDue', () => {
  it('balances, and owes the buyer exactly what came, by those who have it', () => {
    fc.assert(
      fc.property(prices, fc.bigInt({ min: 0n, max: 100n }), (amountMicros, percent) => {
        const sellersMicros = (amountMicros * percent) / 100n;
        const entry = refundDue({
          paymentId: 'p',
          buyerId: 'b',
          sellerId: 's',
          rail: 'sandbox',
          amountMicros,
          sellersMicros,
          reason: 'paid_late',
        });
        expect(() => assertBalanced(entry)).not.toThrow();
        expect(sumOn(entry, accounts.refundsOf('b').address)).toBe(amountMicros);
        expect(sumOn(entry, accounts.owedBy('s').address)).toBe(-sellersMicros);
        expect(sumOn(entry, accounts.clearingOf('sandbox').address)).toBe(sellersMicros - amountMicros);
      }),
    );
  });
});

describe('assertBalanced', () => {
  const posting = (direction: Posting['direction'], amountMicros: bigint): Posting => ({
    account: accounts.platformFees,
    type: 'adjustment',
    direction,
    amountMicros,
  });
  it.each<[string, Posting[]]>([
    ['nothing', []],
    ['a single posting', [posting('debit', 1n)]],
    ['a sum that is off by one', [posting('debit', 5n), posting('credit', 4n)]],
    ['amounts of zero', [posting('debit', 0n), posting('credit', 0n)]],
    ['a negative amount', [posting('debit', -5n), posting('credit', -5n)]],
  ])('stops %s', (_name, postings) => {
    expect(() => assertBalanced({ reason: 'overpaid', paymentId: 'p', postings })).toThrow('invariant broken');
  });
});
