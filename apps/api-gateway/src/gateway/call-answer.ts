import type { OutputOf, RecoveryHint } from '@market/contracts';
import type { executeCall, executeKeylessCall } from '@market/contracts/gateway';
import { recoveryOf, type ErrorBody, type GuidanceLinks } from '../http/error-body.js';
import { HTTP_BY_KIND } from '../http/http-status-by-kind.js';
import type { PaymentRequired } from './x402.js';

type Outcome = OutputOf<typeof executeCall>;
export type PaymentRequiredOutcome = Extract<Outcome, { outcome: 'payment_required' }>;
/** An offer, with the x402 requirements if the route accepts x402. */
type PublicOffer = Omit<PaymentRequiredOutcome['payment'], 'x402'> & { x402: PaymentRequired | null };
type Pending = Extract<Outcome, { outcome: 'pending' }>;

const MESSAGES: Record<NonNullable<PaymentRequiredOutcome['reason']> | 'asked' | 'unsigned' | 'rejected', string> = {
  asked:
    'This call costs money: pay as data.payment.requirements says, then repeat the same request with data.payment.retry_headers',
  unsigned:
    'This call costs money: sign one of data.payment.x402.accepts, then repeat the same request with ' +
    'PAYMENT-SIGNATURE; an x402 client does both',
  rejected:
    'The signed payment was not accepted and nothing was charged: sign the requirements of this answer, ' +
    'or pay another way where they have an address',
  unpaid: 'Nothing has been paid for this relay request id: pay as data.payment says, then repeat the same request',
  underpaid: 'The payment is not complete: pay what is missing on the same relay request id, then repeat the request',
  offer_expired: 'The offer expired before it was paid; here is a new one',
  payment_failed: 'The payment failed; here is a new offer',
  refund_due:
    'What was paid came too late for its offer, or its call could not be delivered in time: it buys nothing any ' +
    'more and is owed back to you; here is a new offer',
  refunded: 'What was paid has been refunded; here is a new offer',
  cancelled: 'This payment was cancelled; here is a new offer',
};

/** The reason for a signature that was used on its chain for a payment that is not in the books. */
const USED_ELSEWHERE = 'authorization_used_elsewhere';
const USED_ELSEWHERE_MESSAGE =
  'This signature was used on its chain before, and the books do not say for what; nothing was charged now. ' +
  'If it paid for this call and you got no answer, ask the operator before you sign again';

const KEYLESS_REJECTED =
  'The signed payment was not accepted and nothing was charged: sign one of data.payment.x402.accepts of this ' +
  'answer; nothing else pays a call without a key';

const PAY_AND_RETRY: RecoveryHint = { nextAction: 'pay_and_retry', keep: ['Idempotency-Key'] };
/** The old payment is no longer valid. The answer contains new requirements with their own retry headers. */
const PAY_ANEW: RecoveryHint = {
  nextAction: 'request_new_payment_requirements',
  keep: ['Idempotency-Key'],
  drop: ['X-Market-Relay-Request-Id', 'X-Market-Payment-Scheme', 'X-Market-Payment-Network'],
};
/** The same offer needs another signature. */
const SIGN_AGAIN: RecoveryHint = { ...PAY_AND_RETRY, drop: ['PAYMENT-SIGNATURE'] };
const ASK_OPERATOR: RecoveryHint = { nextAction: 'contact_operator', drop: ['PAYMENT-SIGNATURE'] };
const hintOfRejection = (reason: string): RecoveryHint => (reason === USED_ELSEWHERE ? ASK_OPERATOR : SIGN_AGAIN);
const SAME_OFFER: PaymentRequiredOutcome['reason'][] = ['unpaid', 'underpaid'];
const PAY_ON_SAME_ID: RecoveryHint = { ...PAY_AND_RETRY, keep: ['Idempotency-Key', 'X-Market-Relay-Request-Id'] };

/** Returns the body of a 402: an error with the next action, and the payment to make. */
export function paymentRequiredBody(
  { payment, reason, received, missing, rejection }: PaymentRequiredOutcome,
  x402: PaymentRequired | null,
  links: GuidanceLinks,
): ErrorBody & { data: { payment: PublicOffer } } {
  const hint = rejection
    ? hintOfRejection(rejection.reason)
    : reason === undefined
      ? PAY_AND_RETRY
      : SAME_OFFER.includes(reason)
        ? PAY_ON_SAME_ID
        : PAY_ANEW;
  const details = rejection
    ? { reason: rejection.reason }
    : reason && {
        reason,
        ...(received === undefined ? {} : { received }),
        ...(missing === undefined ? {} : { missing }),
      };
  return {
    success: false,
    error: {
      code: HTTP_BY_KIND['payment-required'].code,
      message:
        rejection?.reason === USED_ELSEWHERE
          ? USED_ELSEWHERE_MESSAGE
          : MESSAGES[
              rejection ? 'rejected' : (reason ?? (payment.requirements.depositAddress === null ? 'unsigned' : 'asked'))
            ],
      ...(details ? { details } : {}),
      recovery: recoveryOf(hint, links),
    },
    data: { payment: { ...payment, x402 } },
  };
}

type KeylessOutcome = Extract<OutputOf<typeof executeKeylessCall>, { outcome: 'payment_required' }>;
type KeylessPayment = Omit<KeylessOutcome['offers'][number], 'x402'> & { x402: PaymentRequired };

/**
 * Returns the body of a 402 for a keyless call, which only a signature can pay. `data.payment` is the first offer, and
 * `x402.accepts` contains all of them.
 */
export function keylessRequiredBody(
  { offers: [first], reason, rejection }: KeylessOutcome,
  x402: PaymentRequired,
  links: GuidanceLinks,
): ErrorBody & { data: { payment: KeylessPayment } } {
  const why = rejection?.reason ?? reason;
  return {
    success: false,
    error: {
      code: HTTP_BY_KIND['payment-required'].code,
      message: rejection
        ? rejection.reason === USED_ELSEWHERE
          ? USED_ELSEWHERE_MESSAGE
          : KEYLESS_REJECTED
        : reason === undefined
          ? MESSAGES.unsigned
          : MESSAGES[reason],
      ...(why === undefined ? {} : { details: { reason: why } }),
      recovery: recoveryOf(why === undefined ? PAY_AND_RETRY : hintOfRejection(why), links),
    },
    data: { payment: { ...first!, x402 } },
  };
}

/** The data of a 202, which is not an error: the client repeats the request with the same relay request id. */
export const pendingData = ({ relayRequestId, retryAfterSeconds, reason }: Pending) => ({
  status: 'pending' as const,
  relay_request_id: relayRequestId ?? null,
  retry_after_seconds: retryAfterSeconds,
  reason,
});
