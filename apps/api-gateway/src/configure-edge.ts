import { hopOf } from '@market/contracts/gateway';
import { MessageBus } from '@market/messaging';
import { platformConfig, type ConfigOf } from '@market/runtime';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { ApiGatewayConfig } from './config.js';
import { ConsoleFiles } from './console/console-files.js';
import { serveConsole } from './console/serve-console.js';
import { Admission } from './http/admission.js';
import { Authenticator } from './http/authenticator.js';
import { limitConnections } from './http/connection-limit.js';
import { installAuthenticationHooks } from './http/authentication-hooks.js';
import { refuseEarly } from './http/early-refusals.js';
import type { EdgeAdapter } from './http/edge-adapter.js';
import { guidanceLinks } from './http/error-body.js';
import { ErrorFilter } from './http/error-filter.js';
import { suggestListings } from './http/listing-suggestions.js';
import { RateLimiter } from './http/rate-limiter.js';
import { logRequests } from './http/request-log.js';
import { SessionCookie } from './http/session-cookie.js';
import { answerSocketErrors } from './http/socket-errors.js';
import { OpenApi } from './openapi/openapi.js';

/** Sets up everything that must exist before the first route is registered. */
export async function configureEdge(
  app: NestFastifyApplication,
  { requestBudgetMs, callBudgetMs, connectionsPerAddress, trustedProxies }: ApiGatewayConfig,
): Promise<void> {
  const { publicUrl, paymentsMode } = app.get<ConfigOf<typeof platformConfig>>(platformConfig.token);
  const sandbox = paymentsMode === 'sandbox';
  const adapter = app.getHttpAdapter() as unknown as EdgeAdapter;
  const links = guidanceLinks(publicUrl);
  app.setGlobalPrefix('api/v1', { exclude: ['llms.txt', '.well-known/*document', 'mcp', 'mcp/:listing'] });
  logRequests(adapter.getInstance());
  const admission = new Admission();
  const routes = installAuthenticationHooks(adapter.getInstance(), {
    admission,
    authenticator: app.get(Authenticator),
    sessionCookie: app.get(SessionCookie),
    limiter: app.get(RateLimiter),
    sandbox,
    requestBudgetMs,
    callBudgetMs,
    hop: hopOf(publicUrl),
    isSecure: new URL(publicUrl).protocol === 'https:',
  });
  suggestListings(adapter.getInstance(), app.get(MessageBus));
  const console = new ConsoleFiles();
  serveConsole(adapter.getInstance(), console);
  const errors = new ErrorFilter(links, routes, console);
  adapter.errors = errors;
  app.useGlobalFilters(errors);

  const server = app.getHttpServer();
  limitConnections(server, connectionsPerAddress, trustedProxies);
  answerSocketErrors(server, links);
  refuseEarly(server, admission, routes, links);

  app.get(OpenApi).build(app, { publicUrl, sandbox });
}
