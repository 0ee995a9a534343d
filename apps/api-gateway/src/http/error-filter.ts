import {
  Catch,
  Logger,
  MethodNotAllowedException,
  NotFoundException,
  type ArgumentsHost,
  type ExceptionFilter,
} from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ConsoleFiles } from '../console/console-files.js';
import { toHttpError, type GuidanceLinks, type Recovery } from './error-body.js';
import { pathOf } from './edge-request.js';
import type { RouteTable } from './route-table.js';

/** Converts every error to an answer; no other code does. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger('ErrorFilter');

  constructor(
    private readonly links: GuidanceLinks,
    private readonly routes: RouteTable,
    private readonly console: ConsoleFiles,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    this.answer(error, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
  }

  answer(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    if (reply.sent) return;
    const { status, body, bug } = toHttpError(this.refine(error, request, reply), request.id, this.links);
    request.outcome = String(body.error.details?.reason ?? body.error.code);
    if (bug)
      this.logger.error(
        `[${request.id}] ${request.method} ${pathOf(request)} failed`,
        error instanceof Error ? error.stack : String(error),
      );
    if (status === 404 && request.rules === undefined && ConsoleFiles.isForPerson(request, pathOf(request)))
      return this.console.sendNotFound(reply);
    if (body.error.recovery) this.suggest(status, body.error.recovery, request);
    const retryAfter = body.error.details?.retry_after_seconds;
    if (typeof retryAfter === 'number') reply.header('retry-after', retryAfter);
    if (status === 401) reply.header('www-authenticate', 'Bearer realm="agent-marketplace"');
    reply.header('cache-control', 'no-store').status(status).send(body);
  }

  /** Adds suggestions for an unknown path or method. */
  private suggest(status: number, recovery: Recovery, request: FastifyRequest): void {
    if (request.rules !== undefined) return;
    const path = pathOf(request);
    const operations =
      status === 405
        ? this.routes.operationsAt(path)
        : status === 404
          ? this.routes.operationsLike(path, request.method)
          : [];
    if (operations.length > 0) recovery.did_you_mean = operations;
  }

  /** Changes a 404 to 405 if the path exists with other methods. */
  private refine(error: unknown, request: FastifyRequest, reply: FastifyReply): unknown {
    if (!(error instanceof NotFoundException)) return error;
    const allowed = this.routes.methodsAt(pathOf(request));
    if (allowed.length === 0 || allowed.includes(request.method)) return error;
    reply.header('allow', allowed.join(', '));
    return new MethodNotAllowedException();
  }
}
