import { gatewayRequestView } from '@market/contracts/gateway';
import { RECOVERY_SCHEMA } from '../openapi/refusal-responses.js';
import { envelopeSchema, jsonSchemaOf, objectSchema, type JsonSchema } from '../openapi/json-schema.js';

const integer: JsonSchema = { type: 'integer' };
const text: JsonSchema = { type: 'string' };

const chargeSchema = jsonSchemaOf(gatewayRequestView.pick({ charged_amount: true, fees: true })).properties as Record<
  'charged_amount' | 'fees',
  JsonSchema
>;

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
      charged_amount: chargeSchema.charged_amount,
      fees: chargeSchema.fees,
      seller_status_code: integer,
      seller_response: { description: "The seller's JSON, unchanged; null when it gave none." },
      error: {
        ...objectSchema({ reason: text, message: text }),
        description: 'With billable false: why, and the same in words; seller_refused for any 4xx.',
      },
      recovery: {
        $ref: RECOVERY_SCHEMA,
        description:
          'With billable false: whether to repeat the same request on the same payment, or to change it (fix_request) and pay for another.',
      },
      refund: {
        ...objectSchema({ status: { type: 'string', const: 'refund_due' } }),
        description:
          'With billable: false, where the payment had arrived and its buyer has no key: it is owed back and buys ' +
          'nothing any more. GET /refunds shows it to the account of the wallet.',
      },
    },
    ['error', 'recovery', 'refund'],
  ),
);

/**
 * Price information for indexers of paid operations: the price depends on the listing, up to the maximum price. Source:
 * docs/DISCOVERY.md of github.com/Merit-Systems/x402scan.
 */
export const paymentInfo: JsonSchema = {
  price: { mode: 'dynamic', currency: 'USD', min: '0', max: '1000000' },
  protocols: [{ x402: {} }],
};
