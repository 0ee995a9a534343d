/**
 * The closed set of kinds of refusals. Only the edge maps a kind to an HTTP status and a code
 * of the public contract; services do not use status codes.
 */
export const REFUSAL_KINDS = [
  'invalid',
  'unauthenticated',
  'payment-required',
  'forbidden',
  'not-found',
  'conflict',
  'gone',
  'length-required',
  'too-large',
  'unsupported-type',
  'rate-limited',
  'unavailable',
] as const;

export type RefusalKind = (typeof REFUSAL_KINDS)[number];

/** What a caller should do next. The set is closed and published at GET /recovery-actions. */
export const NEXT_ACTIONS = [
  'pay_and_retry',
  'subscribe',
  'retry_after_delay',
  'retry_same_request',
  'retry_with_solana_payment_route',
  'choose_another_payment_route',
  'use_new_idempotency_key',
  'request_new_payment_requirements',
  'fix_request',
  'authenticate',
  'send_agent_id',
  'register',
  'solve_proof_of_work',
  'request_new_challenge',
  'recover_key',
  'create_key_with_scope',
  'revoke_key',
  'change_budget',
  'link_wallet',
  'choose_another_listing',
  'contact_seller',
  'contact_operator',
  'use_direct_gateway',
  'do_not_retry',
] as const;

export type NextAction = (typeof NEXT_ACTIONS)[number];

/** Thrown if a dependency of this process is temporarily unavailable. The caller may retry later. */
export class UnavailableError extends Error {
  override readonly name = 'UnavailableError';
  /** Whether the log says that the dependency is away, so that what fails because of it needs no line of its own. */
  readonly isReported: boolean;

  constructor(
    readonly dependency: string,
    options?: ErrorOptions & { isReported?: boolean },
    message = `${dependency} is unavailable`,
  ) {
    super(message, options);
    this.isReported = options?.isReported ?? false;
  }
}

export const isReported = (error: unknown): boolean => error instanceof UnavailableError && error.isReported;

/** Thrown if transactions kept stopping each other until the retries were used up. The database itself is available. */
export class ContentionError extends UnavailableError {
  constructor(dependency: string, options?: ErrorOptions) {
    super(dependency, options, 'concurrent transactions stopped each other, and the retries are used up');
  }
}
