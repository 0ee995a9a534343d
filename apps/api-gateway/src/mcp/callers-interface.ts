import { HOP_HEADER } from '@market/contracts/gateway';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ErrorBody } from '../http/error-body.js';

export interface InterfaceAnswer {
  status: number;
  headers: Record<string, unknown>;
  text: string;
  /** The body as it came. */
  bytes: Buffer;
  json:
    | { success: true; data: unknown; pagination?: unknown; search?: unknown; facets?: unknown; ways_to_pay?: unknown }
    | ErrorBody;
}

/** The headers of the caller's request that identify the caller and the path of the request. */
const CALLERS_HEADERS = ['authorization', 'x-api-key', 'tracestate', HOP_HEADER.toLowerCase()];

/**
 * Sends requests to the public HTTP interface for the caller of another request. They are injected into the routes
 * within the process, so the same access rules, limits and checks apply.
 */
export class CallersInterface {
  constructor(
    private readonly instance: FastifyInstance,
    readonly request: FastifyRequest,
  ) {}

  async send(
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    { body, headers = {} }: { body?: string | Buffer; headers?: Record<string, string | undefined> } = {},
  ): Promise<InterfaceAnswer> {
    const given = {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
      'x-request-id': this.request.id,
      traceparent: this.request.context.traceparent,
    };
    for (const name of CALLERS_HEADERS)
      if (name in this.request.headers) Object.assign(given, { [name]: this.request.headers[name] });
    const response = await this.instance.inject({
      method,
      url: path,
      remoteAddress: this.request.ip,
      headers: Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Record<
        string,
        string
      >,
      payload: body,
    });
    const { statusCode: status, headers: answered, payload: text, rawPayload: bytes } = response;
    const isJson = /^application\/(problem\+)?json/.test(String(answered['content-type']));
    return { status, headers: answered, text, bytes, json: isJson ? response.json() : { success: true, data: text } };
  }
}
