import type { OutputOf } from '@market/contracts';
import { verifyPayment, type subscribe } from '@market/contracts/payments-ledger';
import type { MessageBus } from '@market/messaging';
import { ApiHeader } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PAYMENT_SIGNATURE, readPaymentSignature } from '../gateway/payment-signature.js';
import { headerOf, paymentRequiredOf, settledOf, type PaymentRequired } from '../gateway/x402.js';
import { success } from '../http/envelope.js';

type Verification = OutputOf<typeof verifyPayment>;
type Offer = Extract<OutputOf<typeof subscribe>, { outcome: 'payment_required' }>['payment'];
/** An offer, with the x402 requirements if the route accepts x402. */
export type PublicOffer = Omit<Offer, 'x402'> & { x402: PaymentRequired | null };

/**
 * Verifies the PAYMENT-SIGNATURE of a request; returns undefined if there is none.
 * @throws Refusal of `verifyPayment`.
 */
export async function verifySignature(
  bus: MessageBus,
  listingId: string,
  request: FastifyRequest,
): Promise<Verification | undefined> {
  const signature = readPaymentSignature(request.headers);
  if (!signature) return undefined;
  const { relayRequestId, authorization } = signature;
  const payload = JSON.parse(authorization) as Record<string, unknown>;
  const input = { listing_id: listingId, relay_request_id: relayRequestId, payload };
  return bus.request(verifyPayment, input, request.context);
}

/** Returns the offer with its x402 requirements, and sends these in the header PAYMENT-REQUIRED for stock clients. */
export function askToPay(offer: Offer, url: string, reply: FastifyReply, reason?: string): PublicOffer {
  const x402 = offer.x402 && paymentRequiredOf([offer.x402], { url, description: 'A period of this listing' }, reason);
  if (x402) reply.header('payment-required', headerOf(x402));
  return { ...offer, x402 };
}

export function setPaymentResponse(
  { transfer }: Extract<Verification, { outcome: 'completed' }>,
  reply: FastifyReply,
): void {
  if (transfer) reply.header('payment-response', headerOf(settledOf(transfer)));
}

export function sendPending(
  { outcome: status, ...pending }: Extract<Verification, { outcome: 'pending' }>,
  reply: FastifyReply,
) {
  reply.status(202).header('retry-after', pending.retry_after_seconds);
  return success({ status, ...pending });
}

export const PAYMENT_REQUIRED_HEADER = {
  'PAYMENT-REQUIRED': {
    description: 'data.x402 in base64, for stock x402 clients; absent where the route takes none.',
    schema: { type: 'string' },
  },
};

export const ApiPaymentSignature = (): MethodDecorator =>
  ApiHeader({
    name: PAYMENT_SIGNATURE,
    required: false,
    description: 'An x402 version 2 payment of the accepts of the offer, in base64. It is settled at once.',
  });
