import { EVENT_STREAM, executeCall } from '@market/contracts/gateway';
import { applyDecorators } from '@nestjs/common';
import { ApiHeader, ApiResponse } from '@nestjs/swagger';
import { success } from '../http/envelope.js';
import { objectSchema } from '../openapi/json-schema.js';
import { header } from '../openapi/refusal-responses.js';
import { gatewayResultExample, offerExample } from './gateway.examples.js';
import { gatewayResultSchema } from './gateway.openapi.js';
import { ApiPaymentPending } from './payment-pending.js';

/** Documents the headers of a file. */
export const fileHeaders = {
  'Content-Disposition': header('inline or attachment, and a name of the marketplace.'),
  'Repr-Digest': header('SHA-256 of the whole file (RFC 9530).'),
  'Content-Digest': header('The same, where the whole file is sent.'),
  'Accept-Ranges': header('bytes'),
  ETag: header('Strong; the SHA-256 in hex.'),
};

/** Documents a request for a part of a file, or for a file that is not known yet. */
export const ApiFileRange = (): MethodDecorator =>
  applyDecorators(
    ApiHeader({ name: 'Range', required: false, description: 'One range of bytes, as in bytes=0-1023.' }),
    ApiHeader({ name: 'If-Range', required: false, description: 'ETag that the range is of.' }),
    ApiHeader({ name: 'If-None-Match', required: false, description: 'ETag of the file already held.' }),
    ApiResponse({
      status: 206,
      description: 'The bytes of the range.',
      headers: { 'Content-Range': header('Which bytes, and of how many.') } as never,
      content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' }, example: 'city' } },
    }),
    ApiResponse({ status: 304, description: 'Not changed since the ETag sent.' }),
  );

/** Documents a request for a stream from behind one of its events. */
export const ApiStreamPlace = (): MethodDecorator =>
  applyDecorators(
    ApiHeader({ name: 'Last-Event-ID', required: false, description: 'Of a stream: the id of the last event held.' }),
    ApiResponse({ status: 204, description: 'The last event held is the last of the stream.' }),
  );

export const streamExample =
  'event: market.open\ndata: {"request_id":"…","attempt":1}\n\ndata: a first event of the seller\n\n';

/** The 200 of a call, with or without a key. */
export const callAnswer = {
  schema: gatewayResultSchema,
  example: success(gatewayResultExample),
  headers: { 'Payment-Receipt': header('Of a credential of the Machine Payments Protocol, in base64url.') },
  alsoAs: { 'application/octet-stream': 'city,celsius', [EVENT_STREAM]: streamExample },
  description: "The seller's answer; with billable: false its refusal, or what kept it from giving an answer.",
};

/** The other 202 of a call. */
const workingSchema = objectSchema(
  {
    request_id: { type: 'string' },
    relay_request_id: { type: ['string', 'null'] },
    status: {
      type: 'string',
      const: 'working',
      description: 'Always working: the seller has taken the call as a job.',
    },
    percent: { type: 'number', description: 'How far the seller says that it is, from 0 to 100; absent until then.' },
    message: { type: 'string', description: 'What it says of that; absent until then.' },
    retry_after_seconds: { type: 'integer', description: 'How long to wait before repeating the request.' },
    deadline: { type: 'string', format: 'date-time', description: 'What is not delivered by then is not charged.' },
  },
  ['percent', 'message'],
);

/** Documents the 202 of a call. */
export const ApiPending = (description: string): MethodDecorator =>
  ApiPaymentPending(
    description,
    { relay_request_id: offerExample.relay_request_id, retry_after_seconds: 2, reason: 'settlement_unknown' },
    { relay_request_id: { type: ['string', 'null'] } },
    executeCall.output.options[1].shape.reason.options,
    [workingSchema],
  );
