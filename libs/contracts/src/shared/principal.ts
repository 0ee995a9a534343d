import { z } from 'zod';
import { budget } from './budget.js';
import { id, scope } from './scalars.js';

export const accountType = z.enum(['agent', 'human']);
export type AccountType = z.output<typeof accountType>;

/** The authenticated caller, as the edge determined it. Services trust it, because the broker lets only declared callers send requests. */
export const principal = z.object({
  accountId: id,
  accountType,
  role: z.enum(['buyer', 'seller', 'both']),
  displayName: z.string(),
  /** The API key of an agent; a human has none and is known by its session. */
  keyId: id,
  /** Empty for humans: scopes are of keys. */
  scopes: z.array(scope),
  /** The human that acts for the agent, where its owner does and no key; `keyId` is then the human's session. */
  ownerId: id.optional(),
  /** A human whom `OPERATORS` names. */
  isOperator: z.literal(true).optional(),
  /** What bounds what the key may spend: its own budget and its agent's, where there are such. */
  budgets: z.array(budget).max(2).optional(),
});

export type Principal = z.output<typeof principal>;
