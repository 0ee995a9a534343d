import { z } from 'zod';
import { id, scope } from './scalars.js';

/** Who is calling, as the edge resolved it; services trust it because only the edge may publish to them. */
export const principal = z.object({
  accountId: id,
  accountType: z.enum(['agent', 'human']),
  role: z.enum(['buyer', 'seller', 'both']),
  displayName: z.string(),
  keyId: id,
  scopes: z.array(scope),
});

export type Principal = z.output<typeof principal>;
