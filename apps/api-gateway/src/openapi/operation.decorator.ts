import { platformRefusals, type RequestContract } from '@market/contracts';
import { applyDecorators, HttpCode, UseGuards, type CanActivate } from '@nestjs/common';
import { ApiBody, ApiHeader, ApiOperation, ApiQuery, ApiResponse } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import type { ZodType } from 'zod';
import { edgeRefusals } from '../http/edge-refusals.js';
import { readQuery, type Param } from '../http/query.js';
import { jsonSchemaOf, type JsonSchema } from './json-schema.js';
import { ApiHttpErrors, ApiRefusals, header, RATE_HEADERS } from './refusal-responses.js';

export interface AnswerDocs {
  schema: JsonSchema;
  example: unknown;
  description?: string;
  /** Defaults to application/json. */
  contentType?: string;
  /** The same answer in other content types: an example of a text, or a whole Media Type Object. */
  alsoAs?: Record<string, string | object>;
  /** Headers in addition to those of every answer. */
  headers?: Record<string, object>;
}

interface BodyDocs {
  /** If absent, any JSON object is allowed. */
  schema?: ZodType;
  examples: Record<string, unknown>;
  /** Whether the body is optional. */
  optional?: boolean;
}

export interface OperationDocs {
  summary: string;
  description?: string;
  /** The requests to services whose refusals the operation may return. */
  asks?: RequestContract[];
  /** Defaults to 200. */
  status?: number;
  answer: AnswerDocs;
  query?: Record<string, Param<unknown>>;
  /** Whether the operation accepts an Idempotency-Key. */
  idempotent?: boolean;
  body?: BodyDocs;
  /** For public reads, which answer 304 if the client has the current version. */
  cacheable?: boolean;
}

/** An operation without parameters refuses every query, as others refuse parameters that they do not have. */
const withoutQuery: CanActivate = {
  canActivate(context) {
    readQuery({}, context.switchToHttp().getRequest<FastifyRequest>().query as object);
    return true;
  },
};

const ANSWER_HEADERS = {
  'X-Request-Id': header('The request id: the one sent, or a new one.'),
  traceparent: header('W3C trace context of this request.'),
  ...RATE_HEADERS,
};

/** Documents an operation completely, except for its access rule. */
export function Operation({
  summary,
  description,
  asks = [],
  status = 200,
  answer,
  query = {},
  idempotent = false,
  body,
  cacheable = false,
}: OperationDocs): MethodDecorator {
  const refusals = Object.assign({}, ...asks.map((contract) => contract.refusals)) as RequestContract['refusals'];
  const { idempotency_in_progress, idempotency_key_reused, ...ofServices } = platformRefusals;
  return applyDecorators(
    HttpCode(status),
    ApiOperation({ summary, description }),
    ApiHeader({
      name: 'X-Request-Id',
      required: false,
      description: 'Names this request in logs; a new one is made where it is absent or odd.',
    }),
    ApiHeader({ name: 'traceparent', required: false, description: 'W3C trace context.' }),
    ...Object.entries(query).map(([name, param]) =>
      ApiQuery({ name, required: false, description: param.description, schema: param.schema }),
    ),
    ...(idempotent
      ? [
          ApiHeader({
            name: 'Idempotency-Key',
            required: false,
            schema: { type: 'string', minLength: 1, maxLength: 255 },
            description: 'Repeating a request with the same key within 24 hours repeats its answer and not its effect.',
          }),
        ]
      : []),
    ...(cacheable
      ? [
          ApiHeader({ name: 'If-None-Match', required: false, description: 'ETag of the version already held.' }),
          ApiResponse({ status: 304, description: 'Not changed since the ETag sent.' }),
        ]
      : []),
    ApiAnswer(status, answer, {
      ...answer.headers,
      ...(idempotent
        ? { 'Idempotency-Replayed': header('"true" when this is the answer of an earlier request with the same key.') }
        : {}),
      ...(cacheable ? { ETag: header('Weak ETag of this version.') } : {}),
    }),
    ...(Object.keys(query).length === 0 ? [UseGuards(withoutQuery)] : []),
    ApiRefusals({ request_invalid: edgeRefusals.request_invalid }),
    ...(body
      ? [ApiRequestBody(body), ApiRefusals({ body_malformed: edgeRefusals.body_malformed }), ApiHttpErrors(413, 415)]
      : []),
    ApiRefusals(refusals),
    ...(idempotent ? [ApiRefusals({ idempotency_key_reused, idempotency_in_progress })] : []),
    ...(asks.length > 0 ? [ApiRefusals(ofServices)] : []),
    ApiHttpErrors(500),
  );
}

/** Documents one successful answer. */
export function ApiAnswer(
  status: number,
  { schema, example, description = 'Done.', contentType = 'application/json', alsoAs = {} }: AnswerDocs,
  headers: Record<string, object> = {},
): MethodDecorator {
  const others = Object.fromEntries(
    Object.entries(alsoAs).map(([type, other]) => [
      type,
      typeof other === 'string' ? { schema: { type: 'string' }, example: other } : other,
    ]),
  );
  return ApiResponse({
    status,
    description,
    headers: { ...ANSWER_HEADERS, ...headers },
    content: { [contentType]: { schema, example }, ...others },
  } as never);
}

function ApiRequestBody({ schema, examples, optional = false }: BodyDocs): MethodDecorator {
  const named = Object.fromEntries(Object.entries(examples).map(([name, value]) => [name, { value }]));
  return ApiBody({
    required: !optional,
    examples: named,
    schema: schema ? jsonSchemaOf(schema, 'input') : { type: 'object', additionalProperties: true },
  });
}
