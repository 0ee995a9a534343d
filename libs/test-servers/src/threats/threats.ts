import { ACCESS } from './access-threats.js';
import { FURTHER } from './further-threats.js';
import { MONEY } from './money-threats.js';
import type { Threat } from './proofs.js';

/** What could go wrong, and the tests that show that it does not. */
export const THREATS: Record<string, Threat> = { ...MONEY, ...ACCESS, ...FURTHER };
