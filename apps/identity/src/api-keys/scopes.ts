import { scope, type Scope } from '@market/contracts';

/** Removes repetitions and sorts the scopes. */
export const normalizeScopes = (scopes: readonly Scope[]): Scope[] =>
  scope.options.filter((known) => scopes.includes(known));

/** The scopes of `wanted` that `held` lacks: a key cannot create a key with more scopes than its own. */
export const scopesBeyond = (wanted: readonly Scope[], held: readonly Scope[]): Scope[] =>
  normalizeScopes(wanted).filter((known) => !held.includes(known));
