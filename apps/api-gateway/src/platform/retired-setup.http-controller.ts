import { platformConfig, type ConfigOf } from '@market/runtime';
import { All, Controller, Inject, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Public } from '../http/access.js';
import { setupRetired } from '../http/edge-refusals.js';
import { guidanceLinks } from '../http/error-body.js';

/** The time since which buyers' funds are not stored. */
const RETIRED_AT = new Date('2026-11-01T00:00:00Z');

/** Setup of stored funds, as older clients know it: 410 for any method, and not part of the document. */
@ApiExcludeController()
@Controller()
export class RetiredSetupHttpController {
  private readonly docs: string;

  constructor(@Inject(platformConfig.token) { publicUrl }: ConfigOf<typeof platformConfig>) {
    this.docs = guidanceLinks(publicUrl).docs;
  }

  /** Says with RFC 9745 and RFC 8594 since when it is gone. */
  @All([
    'payments/setup',
    'payments/setup-intents',
    'payments/fund',
    'payment-methods',
    'wallet/deposit',
    'wallet/balance',
  ])
  @Public({ body: 'ignored', rate: 'none' })
  refuseSetup(@Res({ passthrough: true }) reply: FastifyReply): never {
    reply
      .header('deprecation', `@${RETIRED_AT.getTime() / 1000}`)
      .header('sunset', RETIRED_AT.toUTCString())
      .header('link', `<${this.docs}>; rel="deprecation"; type="text/html"`);
    throw setupRetired();
  }
}
