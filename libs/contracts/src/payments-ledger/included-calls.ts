import { z } from 'zod';
import { defineRequest } from '../define.js';
import { id, microsText, pricingModel, relayRequestId, sha256Hex } from '../shared/index.js';
import { soldListing } from './offers.js';
import { includedCalls } from './quotas.js';

/**
 * Takes one of the calls that a period or a trial includes, and stores a payment of zero for it, in one commit. Concurrent
 * requests never take more calls than are included. The payment is completed when the call was delivered; otherwise it
 * is cancelled, which gives the call back. The same call is taken once while it is under way.
 */
export const takeIncludedCall = defineRequest({
  subject: 'rpc.payments-ledger.take-included-call.v1',
  repeatable: true,
  input: z.object({
    gatewayRequestId: id,
    listing: soldListing,
    pricingModel,
    priceMicros: microsText,
    /** How many calls a period includes at least; null if none. */
    includedCalls: z.number().int().nullable(),
    freeCalls: z.number().int(),
    bodyDigest: sha256Hex,
    /** How long the call may take, in milliseconds. Later, one that was lost is given back. */
    callMs: z.number().int().min(1000).max(300_000),
  }),
  output: z.discriminatedUnion('outcome', [
    z.object({ outcome: z.literal('taken'), relayRequestId }),
    /** None is left. `mayBeGivenBack`: a call of the period that is under way is given back if it fails or uses less. */
    z.object({ outcome: z.literal('none'), included: includedCalls, mayBeGivenBack: z.boolean() }),
  ]),
  refusals: {},
});
