import type { OutputOf, RecoveryHint } from '@market/contracts';
import type { executeCall, executeKeylessCall } from '@market/contracts/gateway';
import { PAY_AND_RETRY, type PaymentRequest } from './payment-required.js';
import type { PaymentRequired } from './x402.js';

type Outcome = OutputOf<typeof executeCall>;
export type PaymentRequiredOutcome = Extract<Outcome, { outcome: 'payment_required' }>;
/** An offer, with the x402 requirements if the route accepts x402. */
type PublicOffer = Omit<PaymentRequiredOutcome['payment'], 'x402'> & { x402: PaymentRequired | null };

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
  cancelled: 'The signature ended before its call was delivered, and nothing was charged; here is a new offer',
};

const MISFIT =
  'This call costs money, and its body would be refused: error.details.body says why. Change the body, then sign one ' +
  'of data.payment.x402.accepts and repeat the request with PAYMENT-SIGNATURE';
const KEYLESS_REJECTED =
  'The signed payment was not accepted and nothing was charged: sign one of data.payment.x402.accepts of this ' +
  'answer; nothing else pays a call without a key';

/** The old payment is no longer valid. The answer contains new requirements with their own retry headers. */
const PAY_ANEW: RecoveryHint = {
  nextAction: 'request_new_payment_requirements',
  keep: ['Idempotency-Key'],
  drop: ['X-Market-Relay-Request-Id', 'X-Market-Payment-Scheme', 'X-Market-Payment-Network'],
};
/** The same offer needs another signature. */
const SIGN_AGAIN: RecoveryHint = { ...PAY_AND_RETRY, drop: ['PAYMENT-SIGNATURE'] };
const SAME_OFFER: PaymentRequiredOutcome['reason'][] = ['unpaid', 'underpaid'];
const PAY_ON_SAME_ID: RecoveryHint = { ...PAY_AND_RETRY, keep: ['Idempotency-Key', 'X-Market-Relay-Request-Id'] };

/** What the 402 of a call with a key says. */
export function callRequest(
  { payment, reason, received, missing, rejection }: PaymentRequiredOutcome,
  x402: PaymentRequired | null,
): PaymentRequest<{ payment: PublicOffer }> {
  return {
    message: MESSAGES[reason ?? (payment.requirements.depositAddress === null ? 'unsigned' : 'asked')],
    rejectedMessage: MESSAGES.rejected,
    rejection: rejection?.reason,
    ...(reason && {
      details: {
        reason,
        ...(received === undefined ? {} : { received }),
        ...(missing === undefined ? {} : { missing }),
      },
      hint: SAME_OFFER.includes(reason) ? PAY_ON_SAME_ID : PAY_ANEW,
    }),
    data: { payment: { ...payment, x402 } },
  };
}

type KeylessOutcome = Extract<OutputOf<typeof executeKeylessCall>, { outcome: 'payment_required' }>;
type KeylessPayment = Omit<KeylessOutcome['offers'][number], 'x402'> & { x402: PaymentRequired };

/**
 * What the 402 of a keyless call says, which only a signature can pay. `data.payment` is the first offer, and
 * `x402.accepts` contains all of them.
 */
export function keylessRequest(
  { offers: [first], reason, rejection, misfit }: KeylessOutcome,
  x402: PaymentRequired,
): PaymentRequest<{ payment: KeylessPayment }> {
  const details = { ...(reason && { reason }), ...(misfit && { body: misfit }) };
  return {
    message: reason ? MESSAGES[reason] : misfit ? MISFIT : MESSAGES.unsigned,
    rejectedMessage: KEYLESS_REJECTED,
    rejection: rejection?.reason,
    ...((reason ?? misfit) && { details }),
    ...(reason && { hint: SIGN_AGAIN }),
    data: { payment: { ...first!, x402 } },
  };
}
