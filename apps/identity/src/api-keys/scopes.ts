import { scope, type Scope } from '@market/contracts';

/** The same set without repetitions, in one order. */
export const normalizeScopes = (scopes: readonly Scope[]): Scope[] =>
  scope.options.filter((known) => scopes.includes(known));

/** The scopes of `wanted` that `held` lacks: a key makes no key that may do more than itself. */
export const scopesBeyond = (wanted: readonly Scope[], held: readonly Scope[]): Scope[] =>
  normalizeScopes(wanted).filter((known) => !held.includes(known));
