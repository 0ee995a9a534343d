import { Refusal } from '@market/messaging';
import { applyDecorators } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import { guidanceLinks, toHttpError } from '../http/error-body.js';
import { jsonSchemaOf, sampleOf, type JsonSchema, type Refusals } from './json-schema.js';

/** The value of PUBLIC_URL in examples. */
export const EXAMPLE_URL = 'https://market.example';
const LINKS = guidanceLinks(EXAMPLE_URL);

export const ERROR_SCHEMA_NAME = 'Error';
export const RECOVERY_SCHEMA = '#/components/schemas/Recovery';

export const header = (description: string, schema: JsonSchema = { type: 'string' }): object => ({
  description,
  schema,
});

/** draft-ietf-httpapi-ratelimit-headers-11. */
export const RATE_HEADERS = {
  'RateLimit-Policy': header(
    'The rate this request counted under, where one did: "reads";q=600;w=60 is 600 requests in 60 seconds.',
  ),
  RateLimit: header('What is left of it: "reads";r=599;t=1 is 599 requests now, and all of them again in a second.'),
};

const RETRY_AFTER = { 'Retry-After': header('Seconds to wait.', { type: 'integer' }) };

const HEADERS: Record<number, Record<string, object>> = { 429: { ...RETRY_AFTER, ...RATE_HEADERS }, 503: RETRY_AFTER };

const DESCRIPTIONS: Record<number, string> = {
  400: 'The request is not valid.',
  401: 'Missing or invalid API key.',
  402: 'Payment required.',
  403: 'Insufficient permissions or wrong account type.',
  404: 'No such resource.',
  405: 'No such method here.',
  409: 'In conflict with what exists.',
  410: 'Retired.',
  411: 'The request does not say how long its body is.',
  413: 'The body is too large.',
  415: 'The body is not of a form that this operation reads.',
  416: 'The file has none of these bytes.',
  429: 'Too many requests: honour Retry-After.',
  500: 'A bug of the marketplace, never a fault of the client.',
  503: 'A part of the marketplace, or the seller, cannot serve this for now: honour Retry-After.',
};

/** Documents refusals under their statuses, with one example per reason, which the error handling code creates. */
export function ApiRefusals(refusals: Refusals): MethodDecorator {
  return ApiErrors(
    Object.entries(refusals).map(([reason, declaration]) => {
      const details = sampleOf(jsonSchemaOf(declaration.details)) as Record<string, unknown>;
      return errorExample(reason, new Refusal(reason, declaration, details));
    }),
  );
}

/** Documents statuses of the layers below the handlers. */
export const ApiHttpErrors = (...statuses: number[]): MethodDecorator =>
  ApiErrors(
    statuses.map((statusCode) => errorExample(`http_${statusCode}`, statusCode === 500 ? undefined : { statusCode })),
  );

interface ErrorExample {
  name: string;
  status: number;
  body: object;
}

/** An error as the edge answers it. */
export const errorExample = (name: string, error: unknown): ErrorExample => ({
  name,
  ...toHttpError(error, '01939e9c-7f3a-7cc1-9d0e-6a2f4f0a1b2c', LINKS),
});

export interface ErrorResponse {
  description: string;
  content: { 'application/json': { schema: JsonSchema; examples: Record<string, { value: object }> } };
}

/** The documentation of a status, without examples. */
export const errorResponse = (status: number): ErrorResponse => ({
  description: DESCRIPTIONS[status]!,
  content: { 'application/json': { schema: { $ref: `#/components/schemas/${ERROR_SCHEMA_NAME}` }, examples: {} } },
});

function ApiErrors(errors: ErrorExample[]): MethodDecorator {
  const statuses = [...new Set(errors.map(({ status }) => status))];
  return applyDecorators(
    ...statuses.map((status) => {
      const examples = Object.fromEntries(
        errors.filter((error) => error.status === status).map(({ name, body }) => [name, { value: body }]),
      );
      return mergedResponse(status, examples, HEADERS[status]);
    }),
  );
}

interface DocumentedResponse {
  headers?: Record<string, object>;
  content?: { 'application/json'?: { schema?: JsonSchema; example?: unknown; examples?: Record<string, unknown> } };
}

/** Several decorators may document the same status; their examples are merged. An answer with data keeps its schema. */
function mergedResponse(
  status: number,
  examples: Record<string, unknown>,
  headers: Record<string, object> | undefined,
): MethodDecorator {
  return (target, key, descriptor) => {
    const method = descriptor.value as object;
    const known = (
      Reflect.getMetadata('swagger/apiResponse', method) as Record<number, DocumentedResponse> | undefined
    )?.[status];
    const { schema, example, examples: others } = known?.content?.['application/json'] ?? {};
    const response = {
      status,
      description: known ? '' : DESCRIPTIONS[status],
      headers: known?.headers || headers ? { ...known?.headers, ...headers } : undefined,
      content: {
        ...known?.content,
        'application/json': {
          schema: schema ?? { $ref: `#/components/schemas/${ERROR_SCHEMA_NAME}` },
          examples: { ...(example !== undefined && { asked: { value: example } }), ...others, ...examples },
        },
      },
    };
    ApiResponse(response as never)(target, key, descriptor as TypedPropertyDescriptor<unknown>);
  };
}
