import { platformConfig, type ConfigOf } from '@market/runtime';
import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import { ApiExcludeEndpoint, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { gzipSync } from 'node:zlib';
import { Public } from '../http/access.js';
import { JSON_TYPE } from '../http/envelope.js';
import { sendCacheableText, takesGzip } from '../http/public-cache.js';
import { OpenApi } from '../openapi/openapi.js';
import { Operation } from '../openapi/operation.decorator.js';
import { llmsText } from './llms-text.js';

/** Machine-readable documents about the service. */
@ApiTags('Platform')
@Controller()
export class DocumentsHttpController {
  /** The text is cached, because it is half a megabyte and does not change while the edge runs. */
  private text: string | undefined;
  private gzipped: Buffer | undefined;

  constructor(
    private readonly openApi: OpenApi,
    @Inject(platformConfig.token) private readonly platform: ConfigOf<typeof platformConfig>,
  ) {}

  @Get('openapi.json')
  @Public()
  @Operation({
    summary: 'This document',
    description: 'Made from the code that serves it.',
    cacheable: true,
    answer: { schema: { type: 'object' }, example: { openapi: '3.1.0' } },
  })
  getOpenApi(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    const bytes = sendCacheableText(request, reply, (this.text ??= JSON.stringify(this.openApi.document)), JSON_TYPE);
    reply.header('vary', `${String(reply.getHeader('vary'))}, Accept-Encoding`);
    if (!bytes || !takesGzip(request)) return bytes;
    reply.header('content-encoding', 'gzip');
    return (this.gzipped ??= gzipSync(bytes));
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
