import fc from 'fast-check';
import { PAYMENT_STATES, type PaymentState } from './payment-state.js';
import { feeReceivedMicros, owedMicros, type PaymentRow } from './payment.js';

const rowOf = (state: PaymentState, gross: bigint, price: bigint, received: bigint): PaymentRow =>
  ({
    state,
    gross_micros: gross.toString(),
    amount_base_units: price.toString(),
    received_base_units: received.toString(),
  }) as PaymentRow;
const amounts = fc.bigInt({ min: 1n, max: 10n ** 20n });

describe('what a buyer is owed back', () => {
  it('is, or was, all of what came where it bought nothing, what was too much where it bought, and never less than nothing', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...PAYMENT_STATES),
        fc.bigInt({ min: 1n, max: 10n ** 15n }),
        amounts,
        fc.oneof(fc.constant(0n), amounts),
        (state, gross, price, received) => {
          const owed = owedMicros(rowOf(state, gross, price, received));
          if (state === 'refund_due' || state === 'refunded') expect(owed).toBe((received * gross) / price);
          else if (['verified', 'completed'].includes(state) && received > price)
            expect(owed).toBe(((received - price) * gross) / price);
          else expect(owed).toBe(0n);
        },
      ),
      { numRuns: 5_000 },
    );
  });

  it('is the price, to the micro, where the price came for nothing', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 10n ** 15n }), amounts, (gross, price) =>
        expect(owedMicros(rowOf('refund_due', gross, price, price))).toBe(gross),
      ),
    );
  });
});

describe('what the operator has of a fee at once', () => {
  it.each<[string, Partial<PaymentRow>, string]>([
    ['all, where the operator got the price', { rail: 'x402', payee: 'operator', authorization_id: 'a' }, '12500'],
    ['all, where each got its part', { rail: 'relay', payee: 'split', authorization_id: null }, '12500'],
    ['nothing, where the seller got the price', { rail: 'x402', payee: 'seller', authorization_id: 'a' }, '0'],
    ['nothing of play money', { rail: 'sandbox', payee: 'operator', authorization_id: null }, '0'],
  ])('is %s', (_what, row, received) => {
    expect(feeReceivedMicros({ fee_micros: '12500', ...row } as PaymentRow)).toBe(received);
  });
});
