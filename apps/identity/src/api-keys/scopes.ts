/** What a key may do, in the order in which sets of scopes are written. */
export const SCOPES = ['read', 'write', 'subscribe'] as const;

export type Scope = (typeof SCOPES)[number];

/** The same set without repetitions, in one order. */
export const normalizeScopes = (scopes: readonly Scope[]): Scope[] => SCOPES.filter((scope) => scopes.includes(scope));

/** The scopes of `wanted` that `held` lacks: a key makes no key that may do more than itself. */
export const scopesBeyond = (wanted: readonly Scope[], held: readonly Scope[]): Scope[] =>
  normalizeScopes(wanted).filter((scope) => !held.includes(scope));
