import { listSigningKeys, signerDid } from '@market/contracts/payments-ledger';
import { MessageBus, type RequestContext } from '@market/messaging';
import { platformConfig, type ConfigOf } from '@market/runtime';
import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../http/access.js';
import { CurrentContext } from '../http/current-context.decorator.js';
import { sendCacheable } from '../http/public-cache.js';

/** A key is published much longer than this before it is used, so caches contain it by then. */
const MAX_AGE_SECONDS = 300;

/** The public keys of receipt signatures. They are outside of the versioned interface and have no envelope. */
@ApiExcludeController()
@Controller('.well-known')
export class SigningKeysHttpController {
  constructor(
    private readonly bus: MessageBus,
    @Inject(platformConfig.token) private readonly platform: ConfigOf<typeof platformConfig>,
  ) {}

  /** Returns a JWK Set (RFC 7517). */
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

  /** Returns the same keys for clients that resolve `did:web`. Source: w3c-ccg.github.io/did-method-web. */
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
