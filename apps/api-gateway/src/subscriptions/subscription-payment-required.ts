import type { PaymentRequest } from '../gateway/payment-required.js';
import type { PublicOffer } from './signed-payment.js';

const ASKED =
  'This listing is paid: pay as data.requirements says, then POST /payments/verify with payment_id and ' +
  'relay_request_id; or sign data.x402 and repeat the request with PAYMENT-SIGNATURE, as x402 clients do';
const REJECTED =
  'The signed payment was not accepted and nothing was charged: sign the requirements of this answer, or pay ' +
  'another way where they have an address';
const PAID = 'This subscription is paid: POST /payments/verify with payment_id and relay_request_id starts it';

/** What the 402 of a subscription says. */
export const subscriptionRequest = (
  payment: PublicOffer,
  rejection?: string,
): PaymentRequest<{ payment_required: true } & PublicOffer> => ({
  message: payment.status === 'verified' ? PAID : ASKED,
  rejectedMessage: REJECTED,
  rejection,
  data: { payment_required: true, ...payment },
});
