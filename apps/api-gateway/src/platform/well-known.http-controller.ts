import { platformConfig, type ConfigOf } from '@market/runtime';
import { Controller, Get, Inject, NotFoundException, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { apiGatewayConfig, type ApiGatewayConfig } from '../config.js';
import { Public } from '../http/access.js';
import { guidanceLinks } from '../http/error-body.js';
import { sendCacheableText } from '../http/public-cache.js';

const LINKSET_TYPE = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"; charset=utf-8';
const DAY_MS = 86_400_000;
const SECURITY_TXT_DAYS = 180;

/** Well-known URIs (RFC 8615); not part of the versioned interface. */
@ApiExcludeController()
@Controller('.well-known')
export class WellKnownHttpController {
  private readonly base: string;

  constructor(
    @Inject(platformConfig.token) { publicUrl }: ConfigOf<typeof platformConfig>,
    @Inject(apiGatewayConfig.token) private readonly config: ApiGatewayConfig,
  ) {
    this.base = publicUrl;
  }

  /** RFC 9727. */
  @Get('api-catalog')
  @Public()
  getApiCatalog(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    const { docs, openapi, llms } = guidanceLinks(this.base);
    const [catalog, api] = [`${this.base}/.well-known/api-catalog`, `${this.base}/api/v1`];
    reply.header('link', `<${catalog}>; rel="api-catalog"`);
    const linkset = [
      {
        anchor: api,
        'service-desc': [{ href: openapi, type: 'application/vnd.oai.openapi+json;version=3.1' }],
        'service-doc': [
          { href: docs, type: 'text/html' },
          { href: llms, type: 'text/plain' },
        ],
        status: [{ href: `${api}/health`, type: 'application/json' }],
      },
    ];
    return sendCacheableText(request, reply, JSON.stringify({ linkset }), LINKSET_TYPE);
  }

  /** RFC 9116; absent unless the operator configures a contact. */
  @Get('security.txt')
  @Public()
  getSecurityText(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    const contact = this.config.securityContact;
    if (contact === undefined) throw new NotFoundException();
    const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
    const expires = new Date(today + SECURITY_TXT_DAYS * DAY_MS).toISOString().replace('.000Z', 'Z');
    const lines = [
      `Contact: ${contact}`,
      `Expires: ${expires}`,
      'Preferred-Languages: en',
      `Canonical: ${this.base}/.well-known/security.txt`,
    ];
    return sendCacheableText(request, reply, `${lines.join('\n')}\n`, 'text/plain; charset=utf-8');
  }
}
