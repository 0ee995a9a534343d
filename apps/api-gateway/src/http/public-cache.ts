import type { FastifyReply, FastifyRequest } from 'fastify';
import { crc32 } from 'node:zlib';
import { JSON_TYPE } from './envelope.js';

/**
 * Sends public data with a weak ETag, so that a client that already has it gets 304 without a body. Length and CRC-32
 * distinguish versions well enough for a cache that revalidates each time.
 */
export function sendCacheable(request: FastifyRequest, reply: FastifyReply, body: unknown): Buffer | undefined {
  return sendCacheableText(request, reply, JSON.stringify(body), JSON_TYPE);
}

/**
 * Like `sendCacheable`, for a document that is already text.
 * @param type with its charset, which Fastify adds only to strings.
 */
export function sendCacheableText(
  request: FastifyRequest,
  reply: FastifyReply,
  text: string,
  type: string,
): Buffer | undefined {
  // The text is encoded once; hashing, measuring and sending a string would each encode it.
  const bytes = Buffer.from(text);
  const etag = `W/"${bytes.length.toString(36)}-${crc32(bytes).toString(36)}"`;
  const varies = reply.getHeader('vary');
  reply
    .header('cache-control', 'no-cache')
    .header('etag', etag)
    .header('vary', varies ? `${String(varies)}, Origin` : 'Origin');
  if (isKnown(request.headers['if-none-match'], etag)) {
    reply.status(304);
    return undefined;
  }
  reply.type(type);
  return bytes;
}

export const takesGzip = ({ headers }: FastifyRequest): boolean => /\bgzip\b/.test(headers['accept-encoding'] ?? '');

const isKnown = (ifNoneMatch: string | undefined, etag: string): boolean =>
  ifNoneMatch !== undefined &&
  (ifNoneMatch.trim() === '*' ||
    ifNoneMatch.split(',').some((known) => known.trim().replace(/^W\//, '') === etag.slice(2)));
