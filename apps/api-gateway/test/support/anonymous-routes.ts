import { runProcess } from '@market/runtime';
import { Module } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { ApiGatewayModule } from '../../src/api-gateway.module.js';
import { apiGateway } from '../../src/service.js';
import { ENVIRONMENT, silentTransport } from './edge-harness.js';

/** A route with more takes every method that Fastify knows. */
const MOST_METHODS = 5;

/**
 * Starts an edge and notes every route as it is registered.
 * @returns what is served without a credential, as `GET /api/v1/listings/{listingId}` `GET /mine/*` or, for
 * every method, `ALL /api/v1/payments/setup`.
 */
export async function anonymousRoutes(): Promise<string[]> {
  const found: string[] = [];
  const note = {
    provide: 'routes',
    inject: [HttpAdapterHost],
    useFactory: ({ httpAdapter }: HttpAdapterHost) =>
      httpAdapter.getInstance<FastifyInstance>().addHook('onRoute', ({ method, url, config }) => {
        if (!['public', 'optional-key'].includes(config!.rules!.access)) return;
        const methods = [method].flat().filter((served) => served !== 'HEAD');
        for (const each of methods.length > MOST_METHODS ? ['ALL'] : methods)
          found.push(`${each} ${url.replaceAll(/:(\w+)/g, '{$1}')}`);
      }),
  };
  @Module({ imports: [ApiGatewayModule], providers: [note] })
  class ModuleWithNotes {}

  const running = await runProcess([{ ...apiGateway, module: ModuleWithNotes }], silentTransport(), ENVIRONMENT);
  await running.stop();
  return found;
}
