import { z } from 'zod';
import { microsText } from '../shared/index.js';

/** An amount of US dollars: exactly, in micros, and as a number. */
export const usdAmount = z.object({ micros: microsText, usd: z.number() });
