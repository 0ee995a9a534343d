import { listSigningKeys } from '@market/contracts/payments-ledger';
import { MessageBus, type Call } from '@market/messaging';
import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Public } from '../http/access.js';
import { CurrentCall } from '../http/call.decorator.js';
import { sendCacheable } from '../http/public-cache.js';

/** A key is published long before it signs, so that those who keep the set this long know it by then. */
const MAX_AGE_SECONDS = 300;

/** The keys receipts are signed with, as a JWK Set (RFC 7517): outside of the envelope and of the versioned interface. */
@ApiExcludeController()
@Controller('.well-known')
export class SigningKeysHttpController {
  constructor(private readonly bus: MessageBus) {}

  /** One bus hop. */
  @Get('jwks.json')
  @Public()
  async listSigningKeys(@CurrentCall() call: Call, @Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply) {
    const text = sendCacheable(request, reply, await this.bus.request(listSigningKeys, {}, call));
    reply.header('cache-control', `public, max-age=${MAX_AGE_SECONDS}`);
    return text;
  }
}
