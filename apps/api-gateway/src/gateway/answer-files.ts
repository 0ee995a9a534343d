import { readContent, type StoredContent } from '@market/contracts/gateway';
import { invariant } from '@market/kernel';
import { MessageBus, newRequestContext } from '@market/messaging';
import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import { contentIsNoScript } from '../http/edge-refusals.js';
import { cutOffIdleReader } from '../http/idle-reader.js';
import { byteRangeOf, type ByteRange } from './byte-range.js';
import { dispositionOf, wouldRun } from './file-view.js';

/** A larger file is not part of a JSON answer. */
export const MAX_BASE64_BYTES = 1_048_576;

/** The bytes of answers that are files, which the gateway service has in pieces. */
@Injectable()
export class AnswerFiles {
  constructor(private readonly bus: MessageBus) {}

  /** The file for a JSON answer; undefined if it is too large for one. */
  async base64(content: StoredContent, request: FastifyRequest): Promise<string | undefined> {
    if (content.size > MAX_BASE64_BYTES) return undefined;
    const pieces: Buffer[] = [];
    for await (const piece of this.pieces(content, whole(content), request)) pieces.push(piece);
    return Buffer.concat(pieces).toString('base64');
  }

  /** Sends the whole file. */
  async send(requestId: string, content: StoredContent, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    setFileHeaders(requestId, content, reply);
    reply.header('content-digest', digestOf(content));
    await this.stream(content, whole(content), request, reply);
  }

  /** Sends what a GET or HEAD asks for: the file, one range of it, or that it has not changed. */
  async serve(requestId: string, content: StoredContent, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { headers } = request;
    if (wouldRun(content.contentType, headers['sec-fetch-dest'])) throw contentIsNoScript();
    const etag = `"${content.sha256}"`;
    reply.header('etag', etag).header('accept-ranges', 'bytes');
    const known = headers['if-none-match']?.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
    if (known?.includes(etag) || known?.includes('*')) return void reply.code(304).send();
    const isCurrent = headers['if-range'] === undefined || headers['if-range'] === etag;
    const range = isCurrent ? byteRangeOf(headers.range, content.size) : undefined;
    if (range === null) {
      reply.header('content-range', `bytes */${content.size}`);
      throw Object.assign(new Error('none of the bytes exist'), { statusCode: 416 });
    }
    if (!range) return this.send(requestId, content, request, reply);
    setFileHeaders(requestId, content, reply);
    reply.code(206).header('content-range', `bytes ${range.first}-${range.last}/${content.size}`);
    await this.stream(content, range, request, reply);
  }

  /** The first piece is read before anything is sent, so that an outage is a 503. */
  private async stream(
    content: StoredContent,
    range: ByteRange,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void> {
    reply.header('content-length', range.last - range.first + 1);
    if (request.method === 'HEAD') return void reply.send(Readable.from([]));
    const pieces = this.pieces(content, range, request);
    const first = await pieces.next();
    cutOffIdleReader(reply);
    const rest = async function* (): AsyncGenerator<Buffer> {
      if (!first.done) yield first.value;
      yield* pieces;
    };
    void reply.send(Readable.from(rest(), { objectMode: false, highWaterMark: 1 }));
  }

  /** Each piece has a deadline of its own, however long the client takes. */
  private async *pieces(
    { id, size }: StoredContent,
    { first, last }: ByteRange,
    { context: { requestId, traceparent, principal } }: FastifyRequest,
  ): AsyncGenerator<Buffer, void> {
    for (let offset = first; offset <= last;) {
      const context = newRequestContext({ requestId, traceparent, principal });
      const { base64 } = await this.bus.request(readContent, { contentId: id, offset }, context);
      const piece = Buffer.from(base64, 'base64').subarray(0, last - offset + 1);
      invariant(piece.length > 0, `the file ${id} has ${size} bytes`);
      offset += piece.length;
      yield piece;
    }
  }
}

const whole = ({ size }: StoredContent): ByteRange => ({ first: 0, last: size - 1 });

const digestOf = ({ sha256 }: StoredContent): string => `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`;

/** A file is a stranger's: browsers must run nothing of it in the name of the marketplace. */
function setFileHeaders(requestId: string, content: StoredContent, reply: FastifyReply): void {
  reply
    .header('content-type', content.contentType)
    .header('content-disposition', dispositionOf(requestId, content.contentType))
    .header('repr-digest', digestOf(content))
    .header('content-security-policy', "sandbox; default-src 'none'")
    .header('cross-origin-resource-policy', 'same-origin')
    .header('x-frame-options', 'DENY');
}
