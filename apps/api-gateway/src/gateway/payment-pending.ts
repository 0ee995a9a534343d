import type { FastifyReply } from 'fastify';
import { success } from '../http/envelope.js';
import { envelopeSchema, objectSchema, type JsonSchema } from '../openapi/json-schema.js';
import { ApiAnswer } from '../openapi/operation.decorator.js';
import { headerOf, notSettledOf } from './x402.js';

/** The header of a 202: why, and that nothing is to be signed again. */
const PAYMENT_PENDING = 'X-Market-Payment-Pending';

const MESSAGES = {
  settlement_unknown:
    'Money may be on its way: a signature of yours was handed in, and whether it paid is not known yet. ' +
    'Sign nothing again; repeat the same request, which is never charged twice',
  call_in_progress: 'The call is under way on a valid payment. Sign and pay nothing again; repeat the same request',
  payment_not_seen: 'No payment was seen yet. If you have paid, pay nothing again; repeat the same request',
  payment_not_final: 'A payment was seen that is not final. Pay nothing again; repeat the same request',
  payment_unknown: 'Whether a payment came is not known at the moment. Pay nothing again; repeat the same request',
};

/** A payment of which it is not known yet whether it was made. */
export interface PendingPayment {
  reason: keyof typeof MESSAGES;
  retry_after_seconds: number;
}

/** The data of a 202, which is not an error: the client repeats the request. Clients and people may know only its status. */
export const pendingPaymentData = <Pending extends PendingPayment>(pending: Pending) => ({
  status: 'pending' as const,
  ...pending,
  code: 'PAYMENT_PENDING' as const,
  message: MESSAGES[pending.reason],
  recovery: {
    next_action: 'retry_same_request' as const,
    keep: ['X-Market-Relay-Request-Id', 'PAYMENT-SIGNATURE', 'Idempotency-Key'],
    sign_again: false as const,
  },
});

/**
 * Answers 202.
 * @param network of the signature that came with the request, if one did. A stock x402 client reads PAYMENT-RESPONSE.
 * @returns the body.
 */
export function answerPending<Pending extends PendingPayment>(
  pending: Pending,
  network: string | undefined,
  reply: FastifyReply,
) {
  const data = pendingPaymentData(pending);
  if (network !== undefined)
    reply.header('payment-response', headerOf(notSettledOf('settlement_pending', network, data.message)));
  reply
    .status(202)
    .header('retry-after', pending.retry_after_seconds)
    .header(PAYMENT_PENDING, `${pending.reason}; sign-again=?0`);
  return success(data);
}

const text: JsonSchema = { type: 'string' };

const oneOf = (others: JsonSchema[], properties: Record<string, JsonSchema>): JsonSchema =>
  others.length === 0
    ? objectSchema(properties)
    : {
        description: 'What is open: repeat the same request.',
        oneOf: [objectSchema(properties), ...others],
        discriminator: { propertyName: 'status' },
      };

/** Documents the 202 of what is bought. */
export const ApiPaymentPending = <Pending extends PendingPayment>(
  description: string,
  example: Pending,
  ids: Record<Exclude<keyof Pending, keyof PendingPayment>, JsonSchema>,
  reasons: readonly PendingPayment['reason'][],
  /** What else a 202 may be. */
  others: JsonSchema[] = [],
): MethodDecorator =>
  ApiAnswer(
    202,
    {
      schema: envelopeSchema(
        oneOf(others, {
          status: {
            type: 'string',
            const: 'pending',
            description: 'Always pending: repeat the request for the outcome.',
          },
          ...ids,
          retry_after_seconds: {
            type: 'integer',
            description: 'How long to wait before repeating the request.',
          },
          reason: { type: 'string', enum: [...reasons], description: 'What is waited for.' },
          code: {
            type: 'string',
            const: 'PAYMENT_PENDING',
            description: 'Always PAYMENT_PENDING, for clients that branch on codes.',
          },
          message: {
            type: 'string',
            description: 'What it means, in words: above all, that nothing is to be signed or paid again.',
          },
          recovery: objectSchema({
            next_action: { type: 'string', const: 'retry_same_request', description: 'Always retry_same_request.' },
            keep: { type: 'array', items: text, description: 'The headers to repeat, of those that were sent.' },
            sign_again: {
              type: 'boolean',
              const: false,
              description: 'Always false: sign nothing again, since both could be charged.',
            },
          }),
        }),
      ),
      example: success(pendingPaymentData(example)),
      description,
    },
    {
      'Retry-After': { schema: { type: 'integer' } },
      [PAYMENT_PENDING]: {
        description: 'The reason, and that nothing is to be signed again: settlement_unknown; sign-again=?0.',
        schema: text,
      },
      'PAYMENT-RESPONSE': {
        description: 'Of a request with a signature: errorReason settlement_pending of x402, in base64.',
        schema: text,
      },
    },
  );
