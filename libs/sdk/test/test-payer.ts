import type { Payer, PreparedPayment } from '../src/payer.js';
import type { PaymentOffer } from '../src/types.js';

/** Pays everything by `pay`, which may return how. */
export const testPayer = (pay: (offer: PaymentOffer) => Promise<PreparedPayment | void>): Payer => ({
  rail: 'test',
  canPay: () => true,
  prepare: async (offer) => (await pay(offer)) ?? {},
});
