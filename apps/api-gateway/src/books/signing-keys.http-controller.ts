import { listSigningKeys, signerDid } from '@market/contracts/payments-ledger';
import { MessageBus, type RequestContext } from '@market/messaging';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../http/access.js';
import { CurrentContext } from '../http/current-context.decorator.js';
import { sendCacheable } from '../http/public-cache.js';

/** A key is published long before it signs, so that those who keep the set this long know it by then. */
const MAX_AGE_SECONDS = 300;

/** The keys receipts are signed with: outside of the envelope and of the versioned interface. */
@ApiExcludeController()
@Controller('.well-known')
export class SigningKeysHttpController {
  constructor(
    private readonly bus: MessageBus,
    @Inject(platformConfig.token) private readonly platform: ConfigOf<typeof platformConfig>,
  ) {}

  /** A JWK Set (RFC 7517). One bus hop. */
  @Get('jwks.json')
  @Public()
  async listSigningKeys(
    @CurrentContext() context: RequestContext,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const bytes = sendCacheable(request, reply, await this.bus.request(listSigningKeys, {}, context));
    reply.header('cache-control', `public, max-age=${MAX_AGE_SECONDS}`);
    return bytes;
  }

  /** The same for clients that look keys up by `did:web`. Source: w3c-ccg.github.io/did-method-web. One bus hop. */
  @Get('did.json')
  @Public()
  async getDidDocument(
    @CurrentContext() context: RequestContext,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const { keys } = await this.bus.request(listSigningKeys, {}, context);
    const id = signerDid(this.platform.publicUrl);
    const verificationMethod = keys.map((publicKeyJwk) => ({
      id: `${id}#${publicKeyJwk.kid}`,
      type: 'JsonWebKey2020',
      controller: id,
      publicKeyJwk,
    }));
    const document = {
      '@context': ['https://www.w3.org/ns/did/v1', 'https://w3id.org/security/suites/jws-2020/v1'],
      id,
      verificationMethod,
      assertionMethod: verificationMethod.map((method) => method.id),
    };
    const bytes = sendCacheable(request, reply, document);
    reply.header('cache-control', `public, max-age=${MAX_AGE_SECONDS}`);
    return bytes;
  }
}
