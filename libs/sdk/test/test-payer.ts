import type { Payer, PreparedPayment } from '../src/payer.js';
import type { Offer } from '../src/types.js';

/** Pays everything by `pay`, which may return how. */
export const testPayer = (pay: (offer: Offer) => Promise<PreparedPayment | void>): Payer => ({
  rail: 'test',
  canPay: () => true,
  prepare: async (offer) => (await pay(offer)) ?? {},
});
