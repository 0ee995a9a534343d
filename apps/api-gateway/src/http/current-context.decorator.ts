import type { RequestContext } from '@market/messaging';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';

/** The context under which a handler sends requests to services. It is created when the HTTP request comes in. */
export const CurrentContext = createParamDecorator(
  (_: unknown, context: ExecutionContext): RequestContext =>
    context.switchToHttp().getRequest<FastifyRequest>().context,
);
