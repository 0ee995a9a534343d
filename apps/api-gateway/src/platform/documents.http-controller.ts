import { platformConfig, type ConfigOf } from '@market/runtime';
import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import { ApiExcludeEndpoint, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../http/access.js';
import { sendCacheable, sendCacheableText } from '../http/public-cache.js';
import { OpenApi } from '../openapi/openapi.js';
import { Operation } from '../openapi/operation.decorator.js';
import { llmsText } from './llms-text.js';

/** The service described for machines. */
@ApiTags('Platform')
@Controller()
export class DocumentsHttpController {
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
    return sendCacheable(request, reply, this.openApi.document);
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
