import { z } from 'zod';
import { microsText } from '../shared/index.js';

/**
 * What the operator has of the fee since the sale: nothing where the fee is the seller's debt, and nothing of play money.
 */
export const feeReceivedMicros = microsText.default('0');

/** An amount of US dollars: exactly, in micros, and as a number. */
export const usdAmount = z.object({
  micros: microsText.describe('The amount in micros: millionths of a US dollar, as an integer in decimal text.'),
  usd: z.number().describe('The same amount in US dollars.'),
});
