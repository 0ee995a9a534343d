import type { RequestOf } from '@market/contracts';
import { verifyPayment } from '@market/contracts/payments-ledger';
import { z } from 'zod';
import { requestInvalid, type FieldProblem } from '../http/edge-refusals.js';
import { readPayload } from './payment-payload.js';

export const verifyPaymentBody = verifyPayment.input.omit({ listing_id: true }).extend({
  payment_id: verifyPayment.input.shape.payment_id.unwrap(),
  payload: z
    .unknown()
    .optional()
    .meta({
      oneOf: [
        { type: 'object', additionalProperties: true },
        { type: 'string', contentEncoding: 'base64' },
      ],
      description:
        'A PaymentPayload of x402 v2, as an object or as its JSON in base64; either this or relay_request_id. What ' +
        'a wallet signed for data.x402.accepts is settled. In the sandbox `accepted` may also hold network, amount ' +
        'and payTo of data.requirements (network, amount_base_units, depositAddress) and extra.relayRequestId, ' +
        'and `payload` is {"outcome": "paid"}, or another outcome of POST /sandbox/payments/{relayRequestId}/pay.',
    }),
});

/** @throws Refusal that names the problem: no proof, two kinds of proof, or an invalid proof. */
export function readVerifyPayment(body: z.output<typeof verifyPaymentBody>): RequestOf<typeof verifyPayment> {
  const { payload } = body;
  const problems: FieldProblem[] = [];
  if ((body.relay_request_id === undefined) === (payload === undefined))
    problems.push({ field: 'relay_request_id', message: 'exactly one of relay_request_id and payload must be sent' });
  const read = payload === undefined ? { payload } : readPayload(payload);
  if ('problem' in read) problems.push({ field: 'payload', message: read.problem });
  if (problems.length > 0 || 'problem' in read) throw requestInvalid(problems);
  return { ...body, payload: read.payload };
}
