import {
  addDeliveryPiece,
  deliverJob,
  DELIVERY_PIECE_BYTES,
  isDeliveryOf,
  openDelivery,
} from '@market/contracts/gateway';
import type { DeliveryKind } from '@market/contracts/gateway';
import type { InputOf, OutputOf } from '@market/contracts';
import { newId } from '@market/kernel';
import { MessageBus, newRequestContext, Refusal, refuse, type RequestContext } from '@market/messaging';
import { applyDecorators, Controller, Param, Post, Req, Res } from '@nestjs/common';
import { ApiHeader, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../http/access.js';
import { deliveryCompressed, edgeRefusals, lengthMissing } from '../http/edge-refusals.js';
import { success } from '../http/envelope.js';
import { RateLimiter } from '../http/rate-limiter.js';
import { uuidOr } from '../http/values.js';
import { GATEWAY_REQUEST_ID } from '../openapi/example-values.js';
import { envelopeSchema, jsonSchemaOf, objectSchema, type JsonSchema } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { ApiHttpErrors, ApiRefusals } from '../openapi/refusal-responses.js';

/** Of a delivery that is not shown to come from the seller of the job. */
const STRANGERS = ['job_not_found', 'delivery_unsigned', 'length_missing', 'delivery_too_large', 'delivery_compressed'];
const MAX_TYPE_LENGTH = 200;
const text = { type: 'string' };
const statusSchema = jsonSchemaOf(deliverJob.output).properties as Record<'status' | 'duplicate', JsonSchema>;

/** Documents one kind of delivery. */
const ApiDelivery = (kind: DeliveryKind, summary: string, description: string, example: object): MethodDecorator =>
  applyDecorators(
    Post(`:requestId/${kind}`),
    Public({ body: 'raw', rate: 'none' }),
    Operation({
      summary,
      description:
        `${description} \`requestId\` is the X-Market-Request-Id of the call. Signed by Standard Webhooks with the ` +
        `signing secret of the endpoint; webhook-id is {requestId}-${kind}-{1 to 64 letters and digits}.`,
      asks: [openDelivery, deliverJob],
      body: { examples: { delivery: example } },
      answer: {
        schema: envelopeSchema(
          objectSchema({ request_id: text, status: statusSchema.status, duplicate: statusSchema.duplicate }, [
            'duplicate',
          ]),
        ),
        example: success({ request_id: GATEWAY_REQUEST_ID, status: STATUS_OF[kind] }),
      },
    }),
    ApiRefusals({
      length_missing: edgeRefusals.length_missing,
      delivery_compressed: edgeRefusals.delivery_compressed,
      rate_limited: edgeRefusals.rate_limited,
    }),
    ApiHttpErrors(413),
    ApiHeader({ name: 'webhook-id', required: true, description: 'Or X-Market-Request-Id.' }),
    ApiHeader({
      name: 'webhook-timestamp',
      required: true,
      description: 'Or X-Market-Timestamp: Unix seconds of now.',
    }),
    ApiHeader({ name: 'webhook-signature', required: true, description: 'Or X-Market-Signature.' }),
  );
const STATUS_OF = { result: 'delivered', progress: 'working', failed: 'failed' } as const;

/** Where sellers deliver what they have taken as jobs. */
@ApiTags('Gateway')
@Controller('jobs')
export class JobsHttpController {
  constructor(
    private readonly bus: MessageBus,
    private readonly limiter: RateLimiter,
  ) {}

  @ApiDelivery(
    'result',
    'Deliver a job',
    'For the seller of a call that it answered with 202 and `X-Market-Job: accepted`. The body is the answer: JSON, or a ' +
      "file that the listing's formats name. The first one counts; the same once more is answered with `duplicate`. " +
      'Of a call whose units count, webhook-id ends with how many it used: {requestId}-result-{letters and digits}-{units}.',
    { rows: 12_000 },
  )
  deliverResult(
    @Param('requestId') id: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return this.deliver('result', id, request, reply);
  }

  @ApiDelivery('progress', 'Say how far a job is', 'At most once a second.', {
    percent: 40,
    message: 'Reading page 8 of 20',
  })
  deliverProgress(
    @Param('requestId') id: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return this.deliver('progress', id, request, reply);
  }

  @ApiDelivery('failed', 'Give a job up', 'Its buyer pays nothing.', { reason: 'The page is behind a login' })
  deliverFailure(
    @Param('requestId') id: string,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    return this.deliver('failed', id, request, reply);
  }

  private async deliver(kind: DeliveryKind, path: string, request: FastifyRequest, reply: FastifyReply) {
    await this.limiter.beforeDelivery(request, reply);
    try {
      const requestId = uuidOr(path, () => refuse(openDelivery, 'job_not_found', {}));
      return success({ request_id: requestId, ...(await this.take(requestId, kind, request)) });
    } catch (error) {
      if (error instanceof Refusal && STRANGERS.includes(error.reason)) this.limiter.countRefusedDelivery(request);
      throw error;
    }
  }

  /** Nothing of the body is read before all else is as it has to be. */
  private async take(
    requestId: string,
    kind: DeliveryKind,
    request: FastifyRequest,
  ): Promise<OutputOf<typeof deliverJob>> {
    const { maxBytes } = await this.bus.request(openDelivery, { requestId, kind }, request.context);
    const { type = '', length, encoding = 'identity' } = request.content!;
    if (length === undefined) throw lengthMissing();
    if (length > maxBytes) throw refuse(deliverJob, 'delivery_too_large', { max_bytes: maxBytes });
    if (encoding.toLowerCase() !== 'identity') throw deliveryCompressed();
    const signed = signatureOf(request);
    if (!isDeliveryOf({ requestId, kind }, signed)) throw refuse(deliverJob, 'delivery_unsigned', {});
    const body = await this.read(requestId, length, request);
    const contentType = type.slice(0, MAX_TYPE_LENGTH);
    return this.bus.request(deliverJob, { requestId, kind, signed, contentType, body }, contextOf(request));
  }

  /** A body of more than a piece is passed on as it arrives, so that none is held in memory. */
  private async read(
    requestId: string,
    length: number,
    request: FastifyRequest,
  ): Promise<InputOf<typeof deliverJob>['body']> {
    const contentId = newId();
    let pieces: Buffer[] = [];
    let held = 0;
    let offset = 0;
    const passOn = async (): Promise<void> => {
      const bytes = Buffer.concat(pieces);
      for (let start = 0; start < bytes.length; start += DELIVERY_PIECE_BYTES) {
        const piece = bytes.subarray(start, start + DELIVERY_PIECE_BYTES);
        const input = { requestId, contentId, offset, base64: piece.toString('base64') };
        await this.bus.request(addDeliveryPiece, input, contextOf(request));
        offset += piece.length;
      }
      pieces = [];
      held = 0;
    };
    for await (const chunk of request.raw as AsyncIterable<Buffer>) {
      pieces.push(chunk);
      held += chunk.length;
      if (length > DELIVERY_PIECE_BYTES && held >= DELIVERY_PIECE_BYTES) await passOn();
    }
    if (length <= DELIVERY_PIECE_BYTES) return { base64: Buffer.concat(pieces).toString('base64') };
    await passOn();
    return { contentId, size: offset };
  }
}

/** Each part has a deadline of its own, however long the seller takes to send it. */
const contextOf = ({ context: { requestId, traceparent } }: FastifyRequest): RequestContext =>
  newRequestContext({ requestId, traceparent });

function signatureOf({ headers }: FastifyRequest): { id: string; timestamp: string; signature: string } {
  const either = (name: string, other: string): string => {
    const value = headers[name] ?? headers[other];
    return typeof value === 'string' ? value : '';
  };
  return {
    id: either('webhook-id', 'x-market-request-id'),
    timestamp: either('webhook-timestamp', 'x-market-timestamp'),
    signature: either('webhook-signature', 'x-market-signature'),
  };
}
