import type { ErrorBody, Offer, Recovery } from './types.js';

/**
 * Codes that this client adds to those of the service. After `NETWORK_ERROR`, `TIMEOUT` and `ABORTED` the request may
 * still have arrived; `relayRequestId`, when set, resumes a call without paying again.
 */
export type ClientErrorCode =
  | 'NETWORK_ERROR'
  | 'TIMEOUT'
  | 'ABORTED'
  | 'UNEXPECTED_RESPONSE'
  | 'PAYMENT_PENDING'
  | 'JOB_WORKING'
  | 'PAYMENT_FAILED'
  | 'PRICE_ABOVE_LIMIT'
  | 'OFFER_REFUSED'
  | 'STREAM_RESTARTED'
  | 'NO_FILE'
  | 'DIGEST_MISMATCH';

interface MarketplaceErrorFields extends Omit<ErrorBody, 'code'> {
  code: ClientErrorCode | (string & {});
  status: number;
  requestId?: string;
  retryAfterSeconds?: number;
  payment?: Offer;
  cause?: unknown;
}

/** Every error of the client: refusals of the service, unchanged, and failures to reach it. */
export class MarketplaceError extends Error {
  override readonly name = 'MarketplaceError';
  /** HTTP status; 0 when no answer arrived. */
  readonly status: number;
  readonly code: ClientErrorCode | (string & {});
  readonly details?: Record<string, unknown>;
  readonly recovery?: Recovery;
  /** The service's `X-Request-Id`, for its operator. */
  readonly requestId?: string;
  readonly retryAfterSeconds?: number;
  /** The offer of a 402. */
  readonly payment?: Offer;
  /** The payment of the call. Pass it to `call()` to continue with it. */
  relayRequestId?: string;

  constructor(fields: MarketplaceErrorFields) {
    super(fields.message, { cause: fields.cause });
    this.status = fields.status;
    this.code = fields.code;
    this.details = fields.details;
    this.recovery = fields.recovery;
    this.requestId = fields.requestId;
    this.retryAfterSeconds = fields.retryAfterSeconds;
    this.payment = fields.payment;
  }

  /** True when it is unknown whether the service acted. */
  get isAmbiguous(): boolean {
    return this.code === 'NETWORK_ERROR' || this.code === 'TIMEOUT' || this.status >= 500;
  }

  /** True when the same request may succeed after `retryAfterSeconds`, or shortly when that is undefined. */
  get isTemporary(): boolean {
    const isInProgress = this.status === 409 && this.details?.['reason'] === 'idempotency_in_progress';
    return this.isAmbiguous || this.status === 202 || this.status === 429 || isInProgress;
  }
}

export type SignatureFailure = 'missing_header' | 'malformed_header' | 'outside_tolerance' | 'no_matching_signature';

/** The request was not sent by the marketplace, or not recently. */
export class SignatureError extends Error {
  override readonly name = 'SignatureError';

  constructor(
    readonly reason: SignatureFailure,
    message: string,
  ) {
    super(message);
  }
}
