import { z } from 'zod';
import { declareRefusal, defineRequest } from '../define.js';

/**
 * A webhook of Relay as it arrived: `timestamp` and `signature` are its headers, `body` is its exact text. It moves no
 * money. If a payment waits for money, the ledger queries Relay at once instead of later.
 */
export const handleRelayWebhook = defineRequest({
  subject: 'rpc.payments-ledger.handle-relay-webhook.v1',
  input: z.object({ timestamp: z.string().max(16), signature: z.string().max(64), body: z.string() }),
  output: z.object({ received: z.literal(true) }),
  refusals: {
    relay_not_configured: declareRefusal(
      'not-found',
      'This marketplace takes no payments through Relay',
      z.object({}),
      { nextAction: 'do_not_retry' },
    ),
    webhook_not_genuine: declareRefusal(
      'unauthenticated',
      'This is not signed by Relay over this body in the last five minutes',
      z.object({}),
    ),
  },
});
