import { executeCall } from '@market/contracts/gateway';
import { success } from '../http/envelope.js';
import { gatewayResultExample, offerExample } from './gateway.examples.js';
import { gatewayResultSchema } from './gateway.openapi.js';
import { ApiPaymentPending } from './payment-pending.js';

/** The 200 of a call, with or without a key. */
export const callAnswer = {
  schema: gatewayResultSchema,
  example: success(gatewayResultExample),
  description: "The seller's answer; with billable: false its refusal, or what kept it from giving an answer.",
};

/** Documents the 202 of a call. */
export const ApiPending = (description: string): MethodDecorator =>
  ApiPaymentPending(
    description,
    { relay_request_id: offerExample.relay_request_id, retry_after_seconds: 2, reason: 'settlement_unknown' },
    { relay_request_id: { type: ['string', 'null'] } },
    executeCall.output.options[1].shape.reason.options,
  );
