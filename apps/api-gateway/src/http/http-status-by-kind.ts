import type { NextAction, RefusalKind } from '@market/kernel';

export interface HttpMeaning {
  status: number;
  code: string;
  /** The next action if the refusal does not declare one. */
  nextAction: NextAction;
}

/** Maps every kind of refusal to a status and a code; no other code does. */
export const HTTP_BY_KIND: Record<RefusalKind, HttpMeaning> = {
  invalid: { status: 400, code: 'BAD_REQUEST', nextAction: 'fix_request' },
  unauthenticated: { status: 401, code: 'UNAUTHORIZED', nextAction: 'authenticate' },
  'payment-required': { status: 402, code: 'PAYMENT_REQUIRED', nextAction: 'pay_and_retry' },
  forbidden: { status: 403, code: 'FORBIDDEN', nextAction: 'do_not_retry' },
  'not-found': { status: 404, code: 'NOT_FOUND', nextAction: 'do_not_retry' },
  conflict: { status: 409, code: 'CONFLICT', nextAction: 'do_not_retry' },
  gone: { status: 410, code: 'GONE', nextAction: 'use_direct_gateway' },
  'length-required': { status: 411, code: 'LENGTH_REQUIRED', nextAction: 'fix_request' },
  'too-large': { status: 413, code: 'PAYLOAD_TOO_LARGE', nextAction: 'fix_request' },
  'unsupported-type': { status: 415, code: 'UNSUPPORTED_MEDIA_TYPE', nextAction: 'fix_request' },
  'rate-limited': { status: 429, code: 'RATE_LIMITED', nextAction: 'retry_after_delay' },
  unavailable: { status: 503, code: 'SERVICE_UNAVAILABLE', nextAction: 'retry_after_delay' },
};

/** Refusals by the HTTP layers below the handlers, in the form of the contract. */
export const HTTP_BY_STATUS: Record<number, HttpMeaning & { reason: string; message: string }> = {
  404: {
    status: 404,
    code: 'NOT_FOUND',
    nextAction: 'fix_request',
    reason: 'route_not_found',
    message: 'No such operation; the OpenAPI document lists them all',
  },
  405: {
    status: 405,
    code: 'METHOD_NOT_ALLOWED',
    nextAction: 'fix_request',
    reason: 'method_not_allowed',
    message: 'This operation does not exist with this method; the Allow header names those that do',
  },
  408: {
    status: 408,
    code: 'BAD_REQUEST',
    nextAction: 'retry_same_request',
    reason: 'request_timeout',
    message: 'The request did not arrive in time',
  },
  413: {
    status: 413,
    code: 'PAYLOAD_TOO_LARGE',
    nextAction: 'fix_request',
    reason: 'body_too_large',
    message: 'The request body is larger than this operation accepts',
  },
  415: {
    status: 415,
    code: 'UNSUPPORTED_MEDIA_TYPE',
    nextAction: 'fix_request',
    reason: 'json_required',
    message: 'Send the body as application/json in UTF-8, not compressed',
  },
  416: {
    status: 416,
    code: 'BAD_REQUEST',
    nextAction: 'fix_request',
    reason: 'range_not_satisfiable',
    message: 'The file has none of the bytes of this range; Content-Range says how many it has',
  },
  417: {
    status: 417,
    code: 'BAD_REQUEST',
    nextAction: 'fix_request',
    reason: 'expectation_failed',
    message: 'The only expectation that can be met is 100-continue',
  },
  431: {
    status: 431,
    code: 'BAD_REQUEST',
    nextAction: 'fix_request',
    reason: 'headers_too_large',
    message: 'The request headers are too large',
  },
};
