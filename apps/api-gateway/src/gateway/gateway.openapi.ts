import { used } from '@market/contracts';
import { gatewayRequestView } from '@market/contracts/gateway';
import type { OpenAPIObject } from '@nestjs/swagger';
import { RECOVERY_SCHEMA } from '../openapi/refusal-responses.js';
import { envelopeSchema, jsonSchemaOf, objectSchema, type JsonSchema } from '../openapi/json-schema.js';

const integer: JsonSchema = { type: 'integer' };
const text: JsonSchema = { type: 'string' };

const chargeSchema = jsonSchemaOf(gatewayRequestView.pick({ charged_amount: true, fees: true }).extend({ usage: used }))
  .properties as Record<'charged_amount' | 'fees' | 'usage', JsonSchema>;

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
      usage: { ...chargeSchema.usage, description: 'What the call used, where that makes its price.' },
      seller_status_code: integer,
      seller_response: {
        description:
          "The seller's JSON, unchanged; null when it gave none. Of a file: an object of content_type, size, sha256, " +
          'base64 (absent above 1 MiB) and content_url, the path of its bytes (null without a key). A request whose ' +
          'Accept names the type of the file, its range such as image/*, or application/octet-stream, and does not ' +
          'prefer JSON, is answered with the bytes, and with what is here in X-Market headers. Of a stream: an object ' +
          'of content_type, size, sha256, outcome (completed or broken), events (absent above 4 MiB), each of event, ' +
          'data and id, and content_url. A request whose Accept names text/event-stream gets the events as they come, ' +
          'between market.open and market.result, whose data is the gateway result with events (how many), bytes, ' +
          'sha256 and outcome in place of seller_response.',
      },
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
    ['usage', 'error', 'recovery', 'refund'],
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

/** A call takes bodies that are no JSON, too, as its listing says. */
export function documentRawBodies({ paths }: OpenAPIObject): void {
  for (const name of ['gateway', 'x402']) {
    const body = paths[`/api/v1/${name}/{listingId}`]!.post!.requestBody as { content: Record<string, object> };
    body.content['*/*'] = { schema: { type: 'string', format: 'binary' }, example: 'city,celsius' };
  }
}
