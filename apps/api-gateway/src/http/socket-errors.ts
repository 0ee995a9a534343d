import { newId } from '@market/kernel';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { CORS_HEADERS } from './cors.js';
import { toHttpError, type GuidanceLinks } from './error-body.js';
import { requestMalformed } from './edge-refusals.js';
import { requestIdOf } from './request-id.js';
import { JSON_TYPE } from './envelope.js';

type ConnectionError = Error & { code?: string };

/** Answers errors that occur before there is a request in the envelope, too. */
export function answerSocketErrors(server: Server, links: GuidanceLinks): void {
  server.removeAllListeners('clientError');
  server.on('clientError', (error: ConnectionError, socket: Socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
    const { status, headers, text } = answerTo(cause(error), newId(), links);
    const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('')}connection: close\r\n\r\n${text}`, () =>
      socket.destroy(),
    );
  });
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    const { status, headers, text } = answerTo({ statusCode: 417 }, requestIdOf(request), links);
    response.writeHead(status, headers).end(text);
  });
}

function cause({ code }: ConnectionError): unknown {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return { statusCode: 408 };
  if (code === 'HPE_HEADER_OVERFLOW') return { statusCode: 431 };
  return requestMalformed('this is not HTTP/1.1');
}

function answerTo(
  error: unknown,
  requestId: string,
  links: GuidanceLinks,
): { status: number; headers: Record<string, string>; text: string } {
  const { status, body } = toHttpError(error, requestId, links);
  const text = JSON.stringify(body);
  const headers = {
    'content-type': JSON_TYPE,
    'content-length': String(Buffer.byteLength(text)),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-request-id': requestId,
    ...CORS_HEADERS,
  };
  return { status, headers, text };
}
