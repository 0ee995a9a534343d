import type { NextAction, RefusalKind } from '@market/kernel';
import type { z } from 'zod';

/**
 * A declared refusal of a request. `kind` decides the HTTP status and code at the edge, the key under which it is
 * declared becomes `error.details.reason`, and `nextAction` becomes `error.recovery.next_action`.
 */
export interface RefusalDeclaration<D extends z.ZodType = z.ZodType> {
  kind: RefusalKind;
  message: string;
  details: D;
  recovery?: RecoveryHint;
  /** Replaces the code of the kind, only for refusals to which the public contract gives a code of their own. */
  code?: 'PAYMENT_ROUTE_MINIMUM_NOT_MET';
}

export interface RecoveryHint {
  nextAction: NextAction;
  /** The names of headers that the caller keeps on the next attempt. */
  keep?: readonly string[];
  /** The names of headers that the caller leaves out of the next attempt. */
  drop?: readonly string[];
  retrySameRoute?: boolean;
  useNewIdempotencyKey?: boolean;
}

export type Refusals = Record<string, RefusalDeclaration>;

export interface RequestContract<
  I extends z.ZodType = z.ZodType,
  O extends z.ZodType = z.ZodType,
  R extends Refusals = Refusals,
> {
  /** `rpc.<service>.<verb-noun>.v<n>`; constant, never built from what a caller sent. */
  subject: string;
  input: I;
  output: O;
  refusals: R;
  /**
   * The request may take as long as a seller's answer. Every other request times out after `DEFAULT_BUDGET_MS`, even if
   * its caller has more time.
   */
  waitsForSeller?: boolean;
  /**
   * Executing the request a second time, even while the first execution is under way in another process, changes
   * nothing and returns the same answer: the request only reads, or an id or a fence in it identifies what it does. The
   * bus therefore sends it again if its answer was lost, as when a process is paused.
   */
  repeatable?: true;
  /**
   * The service that calls it may name an account that has not sent the request: it settles what a buyer began who is
   * gone since, or who has no key. For every other request the edge must have signed the account.
   */
  onBehalf?: true;
  /**
   * The answer contains a secret that is shown once. If it is stored for an Idempotency-Key, it is repeated only to the
   * API key that got it.
   */
  answersSecret?: boolean;
}

export interface EventContract<P extends z.ZodType = z.ZodType> {
  /** `evt.<service>.<noun-past>.v<n>`. */
  subject: string;
  payload: P;
}

/**
 * A best-effort broadcast to every process, for cache invalidation and heartbeats. Correctness must not depend on its
 * arrival.
 */
export interface SignalContract<P extends z.ZodType = z.ZodType> {
  /** `sig.<service>.<noun-past>.v<n>`. */
  subject: string;
  payload: P;
}

export type InputOf<C extends RequestContract> = z.output<C['input']>;
/** The input as a caller sends it, before defaults are applied. */
export type RequestOf<C extends RequestContract> = z.input<C['input']>;
export type OutputOf<C extends RequestContract> = z.output<C['output']>;
export type PayloadOf<C extends EventContract | SignalContract> = z.output<C['payload']>;
export type ReasonOf<C extends RequestContract> = keyof C['refusals'] & string;
export type RefusalDetailsOf<C extends RequestContract, K extends ReasonOf<C>> = z.output<C['refusals'][K]['details']>;

/** All requests that a service answers. It does not start while one of them has no handler. */
export type ServiceContract = Record<string, RequestContract>;

export function defineRequest<I extends z.ZodType, O extends z.ZodType, R extends Refusals>(
  contract: RequestContract<I, O, R>,
): RequestContract<I, O, R> {
  return contract;
}

export function defineEvent<P extends z.ZodType>(contract: EventContract<P>): EventContract<P> {
  return contract;
}

export function defineSignal<P extends z.ZodType>(contract: SignalContract<P>): SignalContract<P> {
  return contract;
}

export function declareRefusal<D extends z.ZodType>(
  kind: RefusalKind,
  message: string,
  details: D,
  recovery?: RecoveryHint,
): RefusalDeclaration<D> {
  return { kind, message, details, recovery };
}
