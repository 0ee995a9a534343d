import type { Principal } from '@market/contracts';
import { newId } from '@market/kernel';

/** Sent with every request: its id, its principal, its trace and the time that remains for it. */
export interface RequestContext {
  readonly requestId: string;
  /** Epoch milliseconds of this process's clock; on the wire only what remains is sent. */
  readonly deadlineAt: number;
  /** W3C Trace Context. */
  readonly traceparent?: string;
  /** The marketplaces that the request has passed through before this one. */
  readonly hops?: readonly string[];
  readonly principal?: Principal;
  readonly idempotency?: Idempotency;
  /** Filled when the reply arrives. */
  readonly reply: ReplyNotes;
}

export interface ReplyNotes {
  /** The answer is that of an earlier request with the same Idempotency-Key. */
  idempotencyReplayed?: boolean;
  /** Something failed on the way to the answer: the trace is kept, though it is not sampled. */
  traceKept?: boolean;
}

/** The client's key, and the SHA-256 (hex) of the request that it belongs to. */
export interface Idempotency {
  readonly key: string;
  readonly fingerprint: string;
}

export const DEFAULT_BUDGET_MS = 10_000;

/** A context that starts here: used by jobs, by event handlers and by the edge for each HTTP request. */
export function newRequestContext(values: Partial<RequestContext> & { budgetMs?: number } = {}): RequestContext {
  const { budgetMs = DEFAULT_BUDGET_MS, requestId = newId(), ...given } = values;
  return { requestId, deadlineAt: Date.now() + budgetMs, reply: {}, ...given };
}

/** The authenticated caller. Handlers that need it are reached only through routes that authenticate. */
export function principalOf(context: RequestContext): Principal {
  if (!context.principal) throw new Error('this request needs a principal and came without one');
  return context.principal;
}

/** The account of the operator who asks. The edge refuses all others. */
export function operatorOf(context: RequestContext): string {
  const { accountId, isOperator } = principalOf(context);
  if (!isOperator) throw new Error('this request needs an operator and came without one');
  return accountId;
}

/** The trace id of a W3C `traceparent`. */
export const traceIdOf = (traceparent: string | undefined): string | undefined => traceparent?.split('-')[1];
