import { success } from '../http/envelope.js';
import { ApiAnswer } from '../openapi/operation.decorator.js';
import { pendingData } from './call-answer.js';
import { gatewayResultExample, offerExample } from './gateway.examples.js';
import { gatewayResultSchema, pendingSchema } from './gateway.openapi.js';

/** The 200 of a call, with or without a key. */
export const callAnswer = {
  schema: gatewayResultSchema,
  example: success(gatewayResultExample),
  description: "The seller's answer; with billable: false its refusal, or what kept it from giving an answer.",
};

/** Documents the 202 of a call. */
export const ApiPending = (description: string): MethodDecorator =>
  ApiAnswer(
    202,
    {
      schema: pendingSchema,
      example: success(
        pendingData({
          outcome: 'pending',
          relayRequestId: offerExample.relay_request_id,
          retryAfterSeconds: 2,
          reason: 'payment_not_final',
        }),
      ),
      description,
    },
    { 'Retry-After': { schema: { type: 'integer' } } },
  );
