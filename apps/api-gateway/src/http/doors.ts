import type { Principal } from '@market/contracts';
import { newCall, type Call } from '@market/messaging';
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import type { RouteRules } from './access.js';
import type { Authenticator } from './authenticator.js';
import { presentedKeyHash } from './bearer-key.js';
import { allowOrigin, allowPreflight } from './cors.js';
import { requestMalformed, scopeMissing, unauthorized } from './edge-refusals.js';
import { pathOf } from './edge-request.js';
import { methodsAt } from './served-methods.js';
import { traceparentFor } from './trace-context.js';

export interface DoorSettings {
  authenticator: Authenticator;
  sandbox: boolean;
  requestBudgetMs: number;
  callBudgetMs: number;
}

/** The documentation's pages and their assets come from a plugin, without rules of ours. */
const DOCS = /^\/docs(\/|$)/;

/**
 * Puts a door before every route: it settles who is calling before a byte of the body is read. A route that declares no
 * access rule stops the process at start.
 */
export function installDoors(instance: FastifyInstance, settings: DoorSettings): void {
  instance.decorateRequest('call');
  instance.decorateRequest('rules');
  instance.addHook('onRequest', greet);
  instance.addHook('onRoute', (route) => {
    if (DOCS.test(route.url)) return;
    const { access, ...rules } = route.config ?? {};
    if (!access) throw new Error(`${String(route.method)} ${route.url} declares no access rule: add @Public, @OptionalKey, @AnyKey or @RequireScope`);
    if (rules.bodyLimitBytes) route.bodyLimit = rules.bodyLimitBytes;
    route.onRequest = doorOf({ access, ...rules }, settings);
  });
}

/** What every answer carries, unknown paths included. */
function greet(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void {
  const { headers } = request;
  reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff').header('cache-control', 'no-store');
  if (headers.origin !== undefined) allowOrigin(reply);
  if (request.method === 'OPTIONS' && answersOptions(request, reply)) return;
  if (headers.host === undefined && request.raw.httpVersionMinor === 1) return done(requestMalformed('the Host header is missing'));
  done();
}

function answersOptions(request: FastifyRequest, reply: FastifyReply): boolean {
  const methods = methodsAt(request.server, pathOf(request));
  if (methods.length === 0) return false;
  if (request.headers.origin !== undefined) allowPreflight(reply);
  void reply.header('allow', [...methods, 'OPTIONS'].join(', ')).status(204).send();
  return true;
}

function doorOf(rules: RouteRules, { authenticator, sandbox, requestBudgetMs, callBudgetMs }: DoorSettings): onRequestHookHandler {
  const { access } = rules;
  const budgetMs = rules.waitsForSeller ? callBudgetMs : requestBudgetMs;
  const absent = rules.sandboxOnly === true && !sandbox;

  return (request, reply, done) => {
    if (absent) return reply.callNotFound();
    request.rules = rules;
    const traceparent = traceparentFor(request.headers.traceparent, request.id);
    reply.header('traceparent', traceparent);
    const callFor = (principal?: Principal): Call => newCall({ requestId: request.id, traceparent, principal, budgetMs });
    if (access === 'public') {
      request.call = callFor();
      return done();
    }

    reply.header('vary', 'Authorization');
    const admit = (principal: Principal): void => {
      const mayRead = principal.scopes.includes('read');
      if (access !== 'any-key' && access !== 'optional-key' && !principal.scopes.includes(access)) return done(scopeMissing(access));
      // A key that may not read sees what a stranger sees.
      request.call = callFor(access === 'optional-key' && !mayRead ? undefined : principal);
      done();
    };
    const keyHash = presentedKeyHash(request.raw);
    if (keyHash === undefined && access === 'optional-key') {
      request.call = callFor();
      return done();
    }
    if (!keyHash) return done(unauthorized());
    const known = authenticator.known(keyHash);
    if (known) return admit(known);
    authenticator.ask(keyHash, callFor()).then(admit, done);
  };
}
