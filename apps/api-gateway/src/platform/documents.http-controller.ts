import { platformConfig, type ConfigOf } from '@market/runtime';
import { Controller, Get, Inject, Query, Req, Res } from '@nestjs/common';
import { ApiExcludeEndpoint, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { gzipSync } from 'node:zlib';
import { Public } from '../http/access.js';
import { JSON_TYPE } from '../http/envelope.js';
import { sendCacheableText, takesGzip } from '../http/public-cache.js';
import { choiceParam, readQuery } from '../http/query.js';
import { OpenApi, TAG_NAMES } from '../openapi/openapi.js';
import { documentOf } from '../openapi/parts.js';
import { Operation } from '../openapi/operation.decorator.js';
import { llmsText } from './llms-text.js';

const documentQuery = { tag: choiceParam(TAG_NAMES), examples: choiceParam(['true', 'false']) };

/** Machine-readable documents about the service. */
@ApiTags('Platform')
@Controller()
export class DocumentsHttpController {
  /** Texts are kept, because the whole is half a megabyte and does not change while the edge runs. */
  private readonly texts = new Map<string, { text: string; gzipped?: Buffer }>();

  constructor(
    private readonly openApi: OpenApi,
    @Inject(platformConfig.token) private readonly platform: ConfigOf<typeof platformConfig>,
  ) {}

  @Get('openapi.json')
  @Public()
  @Operation({
    summary: 'This document',
    description:
      'Made from the code that serves it. tag keeps the operations of one area and what they refer to; examples=false ' +
      'leaves out all examples.',
    query: documentQuery,
    cacheable: true,
    answer: { schema: { type: 'object' }, example: { openapi: '3.1.0' } },
  })
  getOpenApi(@Query() raw: object, @Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    const { tag, examples } = readQuery(documentQuery, raw);
    const kept = this.kept(tag, examples !== 'false');
    const bytes = sendCacheableText(request, reply, kept.text, JSON_TYPE);
    reply.header('vary', `${String(reply.getHeader('vary'))}, Accept-Encoding`);
    if (!bytes || !takesGzip(request)) return bytes;
    reply.header('content-encoding', 'gzip');
    return (kept.gzipped ??= gzipSync(bytes));
  }

  private kept(tag: string | undefined, withExamples: boolean): { text: string; gzipped?: Buffer } {
    const key = `${tag ?? ''} ${withExamples}`;
    let kept = this.texts.get(key);
    if (!kept)
      this.texts.set(key, (kept = { text: JSON.stringify(documentOf(this.openApi.document, tag, withExamples)) }));
    return kept;
  }

  @Get('llms.txt')
  @Public()
  @ApiExcludeEndpoint()
  getLlmsText(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    return sendCacheableText(
      request,
      reply,
      llmsText(this.platform.publicUrl, this.openApi.document),
      'text/plain; charset=utf-8',
    );
  }
}
