import { z } from 'zod';
import { defineRequest } from '../define.js';
import { id } from '../shared/index.js';
import { gatewayRequestDetail, gatewayRequestView, getGatewayRequest } from './calls.js';

/** A call as operators see it: what its buyer sees, and the payment. */
const ofOperators = { payment_id: id.nullable() };
const operatorsCall = gatewayRequestView.omit({ role: true }).extend(ofOperators);

/** Finds calls by their ids and by the id of a buyer or seller: at most 20, newest first. */
export const findCalls = defineRequest({
  subject: 'rpc.gateway.find-calls.v1',
  repeatable: true,
  input: z.object({ ids: z.array(id).max(50), accountId: id.optional() }),
  output: z.object({ calls: z.array(operatorsCall) }),
  refusals: {},
});

/** Paid calls of all listings by day, as counted by the evidence of quality: at most 20 failures of one buyer a day. */
export const getCallsOverview = defineRequest({
  subject: 'rpc.gateway.get-calls-overview.v1',
  repeatable: true,
  input: z.object({}),
  output: z.object({
    days: z
      .array(
        z.object({
          day: z.string(),
          delivered: z.number().int(),
          failed: z.number().int(),
        }),
      )
      .describe('The last 14 days of UTC, oldest first.'),
  }),
  refusals: {},
});

export const inspectCall = defineRequest({
  subject: 'rpc.gateway.inspect-call.v1',
  repeatable: true,
  input: z.object({ requestId: id }),
  output: gatewayRequestDetail.omit({ role: true }).extend(ofOperators),
  refusals: { gateway_request_not_found: getGatewayRequest.refusals.gateway_request_not_found },
});
