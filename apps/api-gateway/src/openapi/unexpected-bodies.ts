import type { OpenAPIObject } from '@nestjs/swagger';
import { bodyMalformed } from '../http/edge-refusals.js';
import { errorExample, errorResponse, type ErrorResponse } from './refusal-responses.js';

const UNREADABLE = [
  errorExample('body_malformed', bodyMalformed('the body is not valid JSON')),
  errorExample('http_413', { statusCode: 413 }),
  errorExample('http_415', { statusCode: 415 }),
];

/** Documents that an operation without a body refuses an unreadable body and ignores any other. */
export function documentUnexpectedBodies({ paths }: Pick<OpenAPIObject, 'paths'>): void {
  for (const item of Object.values(paths)) {
    for (const [method, operation] of Object.entries(
      item as Record<string, { requestBody?: object; responses: Record<string, ErrorResponse> }>,
    )) {
      if (method === 'get' || operation.requestBody) continue;
      for (const { name, status, body } of UNREADABLE)
        (operation.responses[status] ??= errorResponse(status)).content['application/json'].examples[name] = {
          value: body,
        };
    }
  }
}
