import { recoveryOf, type ErrorBody, type GuidanceLinks } from '../http/error-body.js';
import { HTTP_BY_KIND } from '../http/http-status-by-kind.js';
import type { PublicOffer } from './signed-payment.js';

const ASKED =
  'This listing is paid: pay as data.requirements says, then POST /payments/verify with payment_id and ' +
  'relay_request_id; or sign data.x402 and repeat the request with PAYMENT-SIGNATURE, as x402 clients do';
const REJECTED =
  'The signed payment was not accepted and nothing was charged: sign the requirements of this answer, or pay ' +
  'another way where they have an address';
const PAID = 'This subscription is paid: POST /payments/verify with payment_id and relay_request_id starts it';

/** Returns the body of a 402: an error with the next action, and the payment to make. */
export function paymentRequiredBody(
  payment: PublicOffer,
  links: GuidanceLinks,
  reason?: string,
): ErrorBody & { data: { payment_required: true } & PublicOffer } {
  return {
    success: false,
    error: {
      code: HTTP_BY_KIND['payment-required'].code,
      message: reason !== undefined ? REJECTED : payment.status === 'verified' ? PAID : ASKED,
      ...(reason !== undefined && { details: { reason } }),
      recovery: recoveryOf(
        { nextAction: 'pay_and_retry', ...(reason !== undefined && { drop: ['PAYMENT-SIGNATURE'] }) },
        links,
      ),
    },
    data: { payment_required: true, ...payment },
  };
}
