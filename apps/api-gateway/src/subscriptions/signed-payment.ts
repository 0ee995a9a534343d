import type { OutputOf } from '@market/contracts';
import { pendingReason, verifyPayment, type subscribe } from '@market/contracts/payments-ledger';
import { refuse, type MessageBus } from '@market/messaging';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { answerPending, ApiPaymentPending } from '../gateway/payment-pending.js';
import { readPayment } from '../gateway/mpp.js';
import { readPaymentSignature } from '../gateway/payment-signature.js';
import { sendSettlement, signable, type PaymentRequired } from '../gateway/x402.js';
import { PAYMENT_ID, RELAY_REQUEST_ID } from '../openapi/example-values.js';

type Verification = OutputOf<typeof verifyPayment>;
type Offer = Extract<OutputOf<typeof subscribe>, { outcome: 'payment_required' }>['payment'];
/** An offer, with the x402 requirements if the route accepts x402. */
export type PublicOffer = Omit<Offer, 'x402'> & { x402: PaymentRequired | null };

/**
 * Verifies the signed payment of a request; returns undefined if there is none.
 * @param url any URL of this marketplace.
 * @throws Refusal of `verifyPayment`.
 */
export async function verifySignature(
  bus: MessageBus,
  listingId: string,
  request: FastifyRequest,
  url: string,
): Promise<Verification | undefined> {
  const { relayRequestId, authorization, rejection } = readPayment(request, url);
  if (rejection) throw refuse(verifyPayment, 'payment_rejected', { rejection: rejection.reason });
  if (authorization === undefined) return undefined;
  const payload = JSON.parse(authorization) as Record<string, unknown>;
  const input = { listing_id: listingId, relay_request_id: relayRequestId, payload };
  return bus.request(verifyPayment, input, request.context);
}

/** Returns the offer with its x402 requirements, and sends these in the header PAYMENT-REQUIRED for stock clients. */
export function toSign(offer: Offer, url: string, reply: FastifyReply, reason?: string): PublicOffer {
  const resource = { url, description: 'A period of this listing' };
  return { ...offer, x402: signable(offer.x402, resource, reply, reason) };
}

export function setPaymentResponse(
  { transfer }: Extract<Verification, { outcome: 'completed' }>,
  reply: FastifyReply,
): void {
  if (transfer) sendSettlement(transfer, reply);
}

/** The status and headers of a 202. @returns its body. */
export function notPaidYet(
  { outcome: _, ...pending }: Extract<Verification, { outcome: 'pending' }>,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  return answerPending(pending, readPaymentSignature(request.headers)?.network, reply);
}

/** Documents the 202 of a payment. */
export const ApiPending = (description: string): MethodDecorator =>
  ApiPaymentPending(
    description,
    { payment_id: PAYMENT_ID, relay_request_id: RELAY_REQUEST_ID, retry_after_seconds: 2, reason: 'payment_not_final' },
    { payment_id: { type: 'string' }, relay_request_id: { type: 'string' } },
    pendingReason.options,
  );
