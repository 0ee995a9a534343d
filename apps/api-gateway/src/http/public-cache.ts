import type { FastifyReply, FastifyRequest } from 'fastify';
import { crc32 } from 'node:zlib';
import { JSON_TYPE } from './envelope.js';

/**
 * Sends what anyone may see with a weak ETag, so that a client that has it already gets 304 and no body. Length and
 * CRC-32 distinguish versions well enough for a cache that revalidates each time.
 */
export function sendCacheable(request: FastifyRequest, reply: FastifyReply, body: unknown): Buffer | undefined {
  return sendCacheableText(request, reply, JSON.stringify(body), JSON_TYPE);
}

/** The same for a document that is text already. @param type with its charset, which Fastify adds to strings alone. */
export function sendCacheableText(
  request: FastifyRequest,
  reply: FastifyReply,
  text: string,
  type: string,
): Buffer | undefined {
  // Hashed, counted and sent, a string would be encoded three times.
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
