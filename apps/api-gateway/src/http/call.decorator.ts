import type { Call } from '@market/messaging';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';

/** The call under which a handler asks services; made when the request came in. */
export const CurrentCall = createParamDecorator(
  (_: unknown, context: ExecutionContext): Call => context.switchToHttp().getRequest<FastifyRequest>().call,
);
