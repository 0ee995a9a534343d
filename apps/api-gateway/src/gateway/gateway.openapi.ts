import { exactRequirements, keylessOffer, keylessRequirements, paymentOffer } from '@market/contracts/payments-ledger';
import { executeCall } from '@market/contracts/gateway';
import { z } from 'zod';
import { ERROR_SCHEMA_NAME, RECOVERY_SCHEMA } from '../openapi/refusal-responses.js';
import { envelopeSchema, jsonSchemaOf, objectSchema, type JsonSchema } from '../openapi/json-schema.js';

const number: JsonSchema = { type: 'number' };
const integer: JsonSchema = { type: 'integer' };
const text: JsonSchema = { type: 'string' };

/** `data` of a 200. The gateway service stores it as text, so no contract contains its schema. */
export const gatewayResultSchema = envelopeSchema(
  objectSchema(
    {
      request_id: text,
      billable: {
        type: 'boolean',
        description:
          'False: the seller answered with another status than 2xx, or gave no usable answer, and nothing was charged.',
      },
      charged_amount: objectSchema({ amount_cents: number, currency: text }),
      fees: objectSchema({ fee_rate: number, fee_amount_cents: number, seller_receives_cents: number }),
      seller_status_code: integer,
      seller_response: { description: "The seller's JSON, unchanged; null when it gave none." },
      error: {
        ...objectSchema({ reason: text }),
        description: 'With billable false: why; seller_refused for any 4xx.',
      },
      recovery: {
        $ref: RECOVERY_SCHEMA,
        description:
          'With billable false: whether to repeat the same request on the same payment, or to change it (fix_request) and pay for another.',
      },
    },
    ['error', 'recovery'],
  ),
);

export const pendingSchema = envelopeSchema(
  objectSchema({
    status: { type: 'string', const: 'pending' },
    relay_request_id: { type: ['string', 'null'] },
    retry_after_seconds: integer,
    reason: {
      type: 'string',
      enum: executeCall.output.options[1].shape.reason.options,
      description: 'What is waited for.',
    },
  }),
);

/**
 * Price information for indexers of paid operations: the price depends on the listing, up to the maximum price. Source:
 * docs/DISCOVERY.md of github.com/Merit-Systems/x402scan.
 */
export const paymentInfo: JsonSchema = {
  price: { mode: 'dynamic', currency: 'USD', min: '0', max: '1000000' },
  protocols: [{ x402: {} }],
};

const resource = z.object({
  url: z.string(),
  description: z.string(),
  serviceName: z.string().optional(),
  mimeType: z.string(),
});
const extensions = z.record(z.string(), z.record(z.string(), z.unknown()));

/** The content of the header PAYMENT-REQUIRED, which is base64. */
export const paymentRequired = z.object({
  x402Version: z.literal(2),
  error: z.string(),
  resource,
  accepts: z.array(exactRequirements),
  extensions,
});
const keylessRequired = paymentRequired.extend({ accepts: z.array(keylessRequirements) });

export const signableSchema = jsonSchemaOf(keylessRequired);

const withPayment = (payment: z.ZodType): JsonSchema => ({
  allOf: [
    { $ref: `#/components/schemas/${ERROR_SCHEMA_NAME}` },
    objectSchema({ data: objectSchema({ payment: jsonSchemaOf(payment) }) }),
  ],
});

export const paymentRequiredSchema = withPayment(paymentOffer.extend({ x402: paymentRequired.nullable() }));
export const keylessRequiredSchema = withPayment(keylessOffer.extend({ x402: keylessRequired }));
