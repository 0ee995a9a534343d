import type { AccountType, Scope } from '@market/contracts';
import type { RateName } from './rate-limits.js';

/** What opens a route: nothing, nothing but better with a key, any valid credential, or a key that holds the scope. */
type Access = 'public' | 'optional-key' | 'any-credential' | Scope;

/** The rules that a route declares, which are applied before its handler runs. */
export interface RouteRules {
  access: Access;
  /** Whose credentials open the route; agents have keys, humans have sessions. */
  accounts: readonly AccountType[];
  /** Opens also to the session of the human that has claimed the agent which the parameter `agent_id` names. */
  owners?: boolean;
  /** A public route whose handler uses the caller's principal if there is one; it refuses no one. */
  recognizes?: boolean;
  /** Of humans, those alone who operate the marketplace. */
  operators?: boolean;
  /** `json` (default) is parsed and checked, `opaque` stays the text it is, `ignored` is not even read. */
  body?: 'json' | 'opaque' | 'ignored';
  bodyLimitBytes?: number;
  /** Waits as long as a seller may take, not only as long as the marketplace itself. */
  waitsForSeller?: boolean;
  /** What its requests count as; what is not said goes by account, or without one by address, and reads apart from writes. */
  rate?: RateName | 'none';
  /** Exists in sandbox mode alone. */
  sandboxOnly?: boolean;
}

/** Whether a request that comes back from a seller could go round for ever. */
export const callsSellers = ({ rate, waitsForSeller }: RouteRules): boolean =>
  rate === 'calls' || waitsForSeller === true;
