import type { RecoveryHint } from '@market/contracts';
import type { FastifyReply } from 'fastify';
import { guidanceHeader, recoveryOf, type ErrorBody, type GuidanceLinks } from '../http/error-body.js';
import { HTTP_BY_KIND } from '../http/http-status-by-kind.js';
import { isMppClient, problemOf } from './mpp.js';
import { PAYMENT_SIGNATURE } from './payment-signature.js';
import { headerOf, notSettledOf } from './x402.js';

/** What a 402 says, whatever is bought. */
export interface PaymentRequest<Data extends object> {
  /** What to do. */
  message: string;
  /** What to do after a signature that was refused. */
  rejectedMessage: string;
  /** Why the signature of this request was refused; nothing was charged by it. */
  rejection?: string;
  details?: object;
  /** What to do next, unless a signature was refused. */
  hint?: RecoveryHint;
  data: Data;
}

export const PAY_AND_RETRY: RecoveryHint = { nextAction: 'pay_and_retry', keep: ['Idempotency-Key'] };

/** The reason for a signature that was used on its chain for a payment that is not in the books. */
const USED_ELSEWHERE = 'authorization_used_elsewhere';
const NOT_YET = 'invalid_exact_evm_payload_authorization_valid_after';
const NO_LONGER = 'invalid_exact_evm_payload_authorization_valid_before';
/** Rejections by time, which a wrong clock of the signer causes most often. */
const CLOCK_REASONS = new Set([NOT_YET, NO_LONGER]);
/** Of the rejections that need words of their own, whatever is bought. */
const MESSAGES: Record<string, string> = {
  [USED_ELSEWHERE]:
    'This signature was used on its chain before, and the books do not say for what; nothing was charged now. ' +
    'If it paid for this request and you got no answer, ask the operator before you sign again',
  [NOT_YET]:
    'The signature is not valid yet by the clock of the marketplace (error.details.server_time), so the clock of ' +
    'whoever signs is ahead of it. Nothing was charged: set that clock, then sign again',
  [NO_LONGER]:
    'By the clock of the marketplace (error.details.server_time) the signature has ended, ends too soon for this ' +
    'request, or lasts too long: the clock of whoever signs is off, or the requirements were old. Nothing was ' +
    'charged: set that clock, then sign the requirements of this answer',
};

const hintOf = (rejection: string): RecoveryHint =>
  rejection === USED_ELSEWHERE
    ? { nextAction: 'contact_operator', drop: [PAYMENT_SIGNATURE] }
    : { ...PAY_AND_RETRY, drop: [PAYMENT_SIGNATURE] };

/** The body of a 402: an error with the next action, and the payment to make. */
export function paymentRequiredBody<Data extends object>(
  { message, rejectedMessage, rejection, details, hint = PAY_AND_RETRY, data }: PaymentRequest<Data>,
  links: GuidanceLinks,
): ErrorBody & { data: Data } {
  const rejected = rejection !== undefined && {
    reason: rejection,
    ...(CLOCK_REASONS.has(rejection) && { server_time: new Date().toISOString() }),
  };
  return {
    success: false,
    error: {
      code: HTTP_BY_KIND['payment-required'].code,
      message: rejection === undefined ? message : (MESSAGES[rejection] ?? rejectedMessage),
      ...((rejected || details) && { details: { ...details, ...rejected } }),
      recovery: recoveryOf(rejection === undefined ? hint : hintOf(rejection), links),
    },
    data,
  };
}

/**
 * Answers 402; a client of the Machine Payments Protocol gets the same body as problem details.
 * @param failedOn the network on which the facilitator refused to settle what was signed, if it came to that.
 * @returns the body.
 */
export function askToPay<Data extends object>(
  request: PaymentRequest<Data>,
  links: GuidanceLinks,
  reply: FastifyReply,
  failedOn?: string,
): ErrorBody & { data: Data } {
  if (request.rejection !== undefined && failedOn !== undefined)
    reply.header('payment-response', headerOf(notSettledOf(request.rejection, failedOn)));
  reply.status(402).header('link', guidanceHeader(links));
  const body = paymentRequiredBody(request, links);
  if (!isMppClient(reply.request.headers)) return body;
  reply.type('application/problem+json');
  return { ...problemOf(body.error), ...body };
}
