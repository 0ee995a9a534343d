import { id, relayRequestId, text, type RequestOf } from '@market/contracts';
import type { verifyPayment } from '@market/contracts/payments-ledger';
import { z } from 'zod';
import { requestInvalid, type FieldProblem } from '../http/edge-refusals.js';
import { readPayload } from './payment-payload.js';

export const verifyPaymentBody = z.object({
  payment_id: id,
  relay_request_id: relayRequestId
    .optional()
    .describe('Of the payment, as its requirements name it; either this or payload.'),
  payload: z
    .unknown()
    .optional()
    .meta({
      oneOf: [
        { type: 'object', additionalProperties: true },
        { type: 'string', contentEncoding: 'base64' },
      ],
      description:
        'A PaymentPayload of x402 v2, as an object or as its JSON in base64; either this or relay_request_id. `accepted` holds network, amount and payTo of data.requirements (network, amount_base_units, depositAddress) and extra.relayRequestId. In the sandbox `payload` is {"outcome": "paid"}, or another outcome of POST /sandbox/payments/{relayRequestId}/pay.',
    }),
  scheme: text(0, 64).optional().describe('Of the payment, where it is known.'),
  network: text(0, 128).optional().describe('CAIP-2 id of the chain that was paid on.'),
  transactionHash: text(0, 128).optional().describe('Of the transaction that paid.'),
});

/** @throws Refusal naming what is wrong: both ways to prove, none, or one that cannot be read. */
export function toVerifyPayment({
  payment_id,
  relay_request_id,
  payload,
  scheme,
  network,
  transactionHash,
}: z.output<typeof verifyPaymentBody>): RequestOf<typeof verifyPayment> {
  const problems: FieldProblem[] = [];
  if ((relay_request_id === undefined) === (payload === undefined))
    problems.push({ field: 'relay_request_id', message: 'exactly one of relay_request_id and payload must be sent' });
  const read = payload === undefined ? { payload } : readPayload(payload);
  if ('problem' in read) problems.push({ field: 'payload', message: read.problem });
  if (problems.length > 0 || 'problem' in read) throw requestInvalid(problems);
  return {
    paymentId: payment_id.toLowerCase(),
    relayRequestId: relay_request_id,
    payload: read.payload,
    scheme,
    network,
    transactionHash,
  };
}
