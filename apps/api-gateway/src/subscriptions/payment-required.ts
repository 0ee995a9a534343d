import type { OutputOf } from '@market/contracts';
import type { createPayment } from '@market/contracts/payments-ledger';
import { recoveryOf, type ErrorBody, type GuidanceLinks } from '../http/error-body.js';
import { HTTP_BY_KIND } from '../http/http-status-by-kind.js';

type SubscriptionOffer = OutputOf<typeof createPayment>;

const ASKED =
  'This listing is paid: pay as data.requirements says, then POST /payments/verify with payment_id and relay_request_id';
const PAID = 'This subscription is paid: POST /payments/verify with payment_id and relay_request_id starts it';

/** The body of a 402: an error that says what to do, and beside it the payment to make. */
export function paymentRequiredBody(
  payment: SubscriptionOffer,
  links: GuidanceLinks,
): ErrorBody & { data: { payment_required: true } & SubscriptionOffer } {
  return {
    success: false,
    error: {
      code: HTTP_BY_KIND['payment-required'].code,
      message: payment.status === 'verified' ? PAID : ASKED,
      recovery: recoveryOf({ nextAction: 'pay_and_retry' }, links),
    },
    data: { payment_required: true, ...payment },
  };
}
