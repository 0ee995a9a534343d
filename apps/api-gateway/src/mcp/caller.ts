import type { CallersInterface } from './callers-interface.js';
import type { mppErrorOf } from './mpp-over-mcp.js';

/** Who uses a tool. */
export interface Caller {
  api: CallersInterface;
  /** Whether the request has an agent's key. */
  hasKey: boolean;
  /** Of the marketplace. */
  publicUrl: string;
  /** The JSON-RPC error that a client of the Machine Payments Protocol gets instead of the tool's result. */
  mppError?: ReturnType<typeof mppErrorOf>;
}
