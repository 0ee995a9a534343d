import type { Principal } from '@market/contracts';
import { newRequestContext, Refusal, type RequestContext } from '@market/messaging';
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import { callsSellers, type RouteRules } from './route-rules.js';
import type { Authenticator } from './authenticator.js';
import { bearerCredential, type Credential } from './bearer-key.js';
import { allowOrigin, allowPreflight } from './cors.js';
import {
  callLoops,
  crossSiteWrite,
  requestMalformed,
  scopeMissing,
  unauthorized,
  wrongAccountType,
} from './edge-refusals.js';
import { pathOf } from './edge-request.js';
import { hopsOf, isLoop } from './hops.js';
import type { RateLimiter } from './rate-limiter.js';
import { RouteTable } from './route-table.js';
import type { SessionCookie } from './session-cookie.js';
import { traceparentFor } from './trace-context.js';

export interface DoorSettings {
  authenticator: Authenticator;
  sessionCookie: SessionCookie;
  limiter: RateLimiter;
  sandbox: boolean;
  requestBudgetMs: number;
  callBudgetMs: number;
  /** The name of this marketplace; see `hopOf`. */
  hop: string;
}

/** The documentation's pages and their assets come from a plugin, without rules of ours. */
const DOCS = /^\/docs(\/|$)/;

/**
 * Puts a door before every route: who is calling, and whether within its rate, is settled before a byte of the body is read.
 * A route that declares no access rule stops the process at start.
 * @returns the routes there will be.
 */
export function installDoors(instance: FastifyInstance, settings: DoorSettings): RouteTable {
  const routes = new RouteTable();
  instance.decorateRequest('context');
  instance.decorateRequest('rules');
  instance.addHook('onRequest', (request, reply, done) => greet(request, reply, routes, done));
  instance.addHook('onRoute', (route) => {
    if (DOCS.test(route.url)) return routes.add(route);
    const rules = route.config?.rules;
    if (!rules)
      throw new Error(
        `${String(route.method)} ${route.url} declares no access rule: add @Public, @OptionalKey, @AnyCredential or @RequireScope`,
      );
    if (rules.bodyLimitBytes) route.bodyLimit = rules.bodyLimitBytes;
    const absent = rules.sandboxOnly === true && !settings.sandbox;
    if (!absent) routes.add(route);
    const isRead = [route.method].flat().every((method) => method === 'GET' || method === 'HEAD');
    route.onRequest = absent ? (_request, reply) => reply.callNotFound() : doorOf(rules, isRead, settings);
    if (rules.rate === 'calls')
      route.onSend = (request, reply, payload, done) => (
        settings.limiter.finished(request, reply),
        done(null, payload)
      );
  });
  return routes;
}

/** What every answer carries, unknown paths included. */
function greet(request: FastifyRequest, reply: FastifyReply, routes: RouteTable, done: (error?: Error) => void): void {
  const { headers } = request;
  reply
    .header('x-request-id', request.id)
    .header('x-content-type-options', 'nosniff')
    .header('cache-control', 'no-store');
  if (headers.origin !== undefined) allowOrigin(reply);
  if (request.method === 'OPTIONS' && answersOptions(request, reply, routes)) return;
  if (headers.host === undefined && request.raw.httpVersionMinor === 1)
    return done(requestMalformed('the Host header is missing'));
  done();
}

function answersOptions(request: FastifyRequest, reply: FastifyReply, routes: RouteTable): boolean {
  const methods = routes.methodsAt(pathOf(request));
  if (methods.length === 0) return false;
  if (request.headers.origin !== undefined) allowPreflight(reply);
  void reply
    .header('allow', [...methods, 'OPTIONS'].join(', '))
    .status(204)
    .send();
  return true;
}

function doorOf(
  rules: RouteRules,
  isRead: boolean,
  { authenticator, sessionCookie, limiter, requestBudgetMs, callBudgetMs, hop }: DoorSettings,
): onRequestHookHandler {
  const { access, accounts } = rules;
  const count = limiter.counterOf(rules, isRead);
  const budgetMs = rules.waitsForSeller ? callBudgetMs : requestBudgetMs;
  // A request without a good credential is served as a stranger's.
  const isOpen = access === 'public' || access === 'optional-key';
  // A page that anyone may see does not depend on what a browser happens to send along.
  const readsCookie = access !== 'optional-key';

  const carriesHops = callsSellers(rules);

  return (request, reply, done) => {
    request.rules = rules;
    const hops = carriesHops ? hopsOf(request) : undefined;
    if (hops && isLoop(hops, hop)) return done(callLoops());
    const traceparent = traceparentFor(request.headers.traceparent, request.id);
    reply.header('traceparent', traceparent);
    const contextFor = (principal?: Principal): RequestContext =>
      newRequestContext({ requestId: request.id, traceparent, hops, principal, budgetMs });
    const open = (principal?: Principal): void => {
      request.context = contextFor(principal);
      // What needs no account is counted by address also for those who have one.
      count(request, reply, access === 'public' ? undefined : principal, done);
    };
    const turnAway = (refusal: Error): void => (isOpen ? open() : limiter.turnAway(request, reply, refusal, done));
    if (access === 'public' && !rules.recognizes) return open();

    reply.header('vary', readsCookie ? 'Authorization, Cookie' : 'Authorization');
    let credential: Credential | null | undefined = bearerCredential(request.raw);
    if (credential === undefined && readsCookie) {
      credential = sessionCookie.credentialIn(request);
      if (credential && sessionCookie.isForeignWrite(request)) return turnAway(crossSiteWrite());
    }
    if (!credential) return turnAway(unauthorized());
    const admit = (principal: Principal): void => {
      if (access === 'public') return open(principal);
      if (!accounts.includes(principal.accountType)) return done(wrongAccountType(accounts));
      if (access === 'any-credential') return open(principal);
      // A key that may not read sees what a stranger sees.
      if (access === 'optional-key') return open(principal.scopes.includes('read') ? principal : undefined);
      return principal.scopes.includes(access) ? open(principal) : done(scopeMissing(access));
    };
    const presented = credential;
    const known = authenticator.known(presented);
    if (known) return admit(known);
    const rejected = (error: Error): void => {
      if (!isUnauthenticated(error)) return done(error);
      if (isOpen) limiter.countUnknown(request);
      turnAway(error);
    };
    const ask = (): void => void authenticator.ask(presented, contextFor()).then(admit, rejected);
    limiter.beforeAsking(request, reply, ask, isOpen ? () => open() : done);
  };
}

const isUnauthenticated = (error: Error): boolean =>
  error instanceof Refusal && error.declaration.kind === 'unauthenticated';
