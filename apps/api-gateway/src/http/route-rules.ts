import type { AccountType, Scope } from '@market/contracts';
import type { RateName } from './rate-limits.js';

/** The credential that a route requires: none, an optional key, any valid credential, or a key with the scope. */
type Access = 'public' | 'optional-key' | 'any-credential' | Scope;

/** The rules that a route declares, which are applied before its handler runs. */
export interface RouteRules {
  access: Access;
  /** The types of accounts that may use the route; agents have keys, humans have sessions. */
  accounts: readonly AccountType[];
  /** Also allows the session of the human that has claimed the agent in the parameter `agent_id`. */
  owners?: boolean;
  /** The handler of a public route uses the principal if there is one; no request is refused. */
  recognizes?: boolean;
  /** Of humans, only operators are allowed. */
  operators?: boolean;
  /** `json` (default) is parsed and checked, `opaque` stays text, `ignored` is not read, `raw` is left to the handler. */
  body?: 'json' | 'opaque' | 'ignored' | 'raw';
  /** An opaque body that is no JSON is read as bytes. */
  anyType?: boolean;
  bodyLimitBytes?: number;
  /** The deadline allows for the time that a seller may take. */
  waitsForSeller?: boolean;
  /**
   * The rate that requests count against. By default they count by account, or by address without one, with separate
   * rates for reads and writes.
   */
  rate?: RateName | 'none';
  /** Exists only in sandbox mode. */
  sandboxOnly?: boolean;
}

/** Whether a request to the route may return from a seller and cause an endless loop. */
export const callsSellers = ({ rate, waitsForSeller }: RouteRules): boolean =>
  rate === 'calls' || waitsForSeller === true;
