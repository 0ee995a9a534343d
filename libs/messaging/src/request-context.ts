import type { Principal } from '@market/contracts';
import { newId } from '@market/kernel';

/** Sent with every request: its id, its principal, its trace and the time that remains for it. */
export interface RequestContext {
  readonly requestId: string;
  /** Epoch milliseconds of this process's clock. Only the remaining time is sent on the wire. */
  readonly deadlineAt: number;
  /** W3C Trace Context. */
  readonly traceparent?: string;
  /** The marketplaces that the request has passed through before this one. */
  readonly hops?: readonly string[];
  readonly principal?: Principal;
  readonly idempotency?: Idempotency;
  /** Filled in when the reply arrives. */
  readonly reply: ReplyNotes;
}

export interface ReplyNotes {
  /** The answer is the stored answer of an earlier request with the same Idempotency-Key. */
  idempotencyReplayed?: boolean;
  /** Something failed before the answer, so the trace is kept even if it is not sampled. */
  traceKept?: boolean;
}

/** The client's key, and the SHA-256 (hex) of the request that it belongs to. */
export interface Idempotency {
  readonly key: string;
  readonly fingerprint: string;
}

export const DEFAULT_BUDGET_MS = 10_000;

/** Creates a context for a new request. Jobs and event handlers use it, and the edge for each HTTP request. */
export function newRequestContext(values: Partial<RequestContext> & { budgetMs?: number } = {}): RequestContext {
  const { budgetMs = DEFAULT_BUDGET_MS, requestId = newId(), ...given } = values;
  return { requestId, deadlineAt: Date.now() + budgetMs, reply: {}, ...given };
}

/** The authenticated caller. Handlers that need it are reached only through routes that authenticate. */
export function principalOf(context: RequestContext): Principal {
  if (!context.principal) throw new Error('this request needs a principal and came without one');
  return context.principal;
}

/** Returns the account of the operator that makes the request. The edge refuses all others. */
export function operatorOf(context: RequestContext): string {
  const { accountId, isOperator } = principalOf(context);
  if (!isOperator) throw new Error('this request needs an operator and came without one');
  return accountId;
}

/** Returns the trace id of a W3C `traceparent`. */
export const traceIdOf = (traceparent: string | undefined): string | undefined => traceparent?.split('-')[1];
