import { z } from 'zod';
import { budget } from './budget.js';
import { id, scope } from './scalars.js';

export const accountType = z.enum(['agent', 'human']);
export type AccountType = z.output<typeof accountType>;

/**
 * The authenticated caller, as determined by the edge, which signs it where it crosses a broker.
 */
export const principal = z.object({
  accountId: id,
  accountType,
  role: z.enum(['buyer', 'seller', 'both']),
  displayName: z.string(),
  /** The API key of an agent, or the session of a human. */
  keyId: id,
  /** Empty for humans, because only keys have scopes. */
  scopes: z.array(scope),
  /** The owner of the agent, if the owner acts for it without a key; `keyId` is then the owner's session. */
  ownerId: id.optional(),
  /** A human whom `OPERATORS` names. */
  isOperator: z.literal(true).optional(),
  /** The budgets that limit what the key may spend: its own and its agent's, if they exist. */
  budgets: z.array(budget).max(2).optional(),
});

export type Principal = z.output<typeof principal>;
