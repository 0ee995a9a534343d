import { platformConfig, type ConfigOf } from '@market/runtime';
import { All, Controller, Inject, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Public } from '../http/access.js';
import { setupRetired } from '../http/edge-refusals.js';

/** The time since which the marketplace stores no buyers' funds. */
const RETIRED_AT = new Date('2026-11-01T00:00:00Z');

/** The former setup of stored funds: answers 410 to any method, and is not in the document. */
@ApiExcludeController()
@Controller()
export class RetiredSetupHttpController {
  private readonly docs: string;

  constructor(@Inject(platformConfig.token) { publicUrl }: ConfigOf<typeof platformConfig>) {
    this.docs = `${publicUrl}/docs`;
  }

  /** Sends the headers of RFC 9745 and RFC 8594 with the date of the removal. */
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
