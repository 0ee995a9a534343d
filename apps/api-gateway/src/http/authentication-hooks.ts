import type { Principal } from '@market/contracts';
import { isUuid } from '@market/kernel';
import { newRequestContext, Refusal, type RequestContext } from '@market/messaging';
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import type { Admission } from './admission.js';
import { callsSellers, type RouteRules } from './route-rules.js';
import type { Authenticator } from './authenticator.js';
import { bearerCredential, keyCredential, type Credential } from './bearer-key.js';
import { allowOrigin, allowPreflight } from './cors.js';
import {
  agentIdMissing,
  agentIdOfAnother,
  callLoops,
  crossSiteWrite,
  edgeRefusals,
  operatorRequired,
  requestInvalid,
  requestMalformed,
  scopeMissing,
  unauthorized,
  wrongAccountType,
} from './edge-refusals.js';
import { overloaded } from './early-refusals.js';
import { pathOf } from './edge-request.js';
import { hopsOf, isLoop } from './hops.js';
import type { RateLimiter } from './rate-limiter.js';
import { RouteTable } from './route-table.js';
import type { SessionCookie } from './session-cookie.js';
import { traceRequest } from './trace-context.js';

const STRICT_TRANSPORT = 'max-age=31536000';

export interface AuthenticationSettings {
  admission: Admission;
  authenticator: Authenticator;
  sessionCookie: SessionCookie;
  limiter: RateLimiter;
  sandbox: boolean;
  requestBudgetMs: number;
  callBudgetMs: number;
  /** The name of this marketplace; see `hopOf`. */
  hop: string;
  /** Whether the marketplace is reached over HTTPS, which browsers then insist on (RFC 6797). */
  isSecure: boolean;
}

/**
 * Adds an `onRequest` hook to every route, which authenticates the caller and counts the request against its rate limit
 * before the body is read. A route without an access rule stops the process at start.
 * @returns the table of routes, complete once the server is ready.
 */
export function installAuthenticationHooks(instance: FastifyInstance, settings: AuthenticationSettings): RouteTable {
  const routes = new RouteTable();
  const admitted = new WeakSet<FastifyRequest>();
  instance.decorateRequest('context');
  instance.decorateRequest('credential');
  instance.decorateRequest('challengeId');
  instance.decorateRequest('sentBody');
  instance.decorateRequest('rules');
  instance.addHook('onRequest', (request, reply, done) => {
    if (settings.isSecure) reply.header('strict-transport-security', STRICT_TRANSPORT);
    setCommonHeaders(request, reply, routes, done);
  });
  instance.addHook('onRoute', (route) => {
    const rules = route.config?.rules;
    if (!rules)
      throw new Error(
        `${String(route.method)} ${route.url} declares no access rule: add @Public, @OptionalKey, @AnyCredential or @RequireScope`,
      );
    if (rules.bodyLimitBytes) route.bodyLimit = rules.bodyLimitBytes;
    const absent = rules.sandboxOnly === true && !settings.sandbox;
    if (absent) {
      route.onRequest = (_request, reply) => reply.callNotFound();
      return;
    }
    routes.add(route);
    const isRead = [route.method].flat().every((method) => method === 'GET' || method === 'HEAD');
    const authenticate = authenticationHook(rules, isRead, settings);
    route.onRequest = authenticate;
    if (rules.rate !== 'calls') return;
    route.onRequest = [
      (request, _reply, done) => {
        if (!settings.admission.begin()) return done(overloaded);
        admitted.add(request);
        done();
      },
      authenticate,
    ];
    route.onSend = (request, reply, payload, done) => {
      settings.limiter.finished(request, reply);
      if (admitted.delete(request)) settings.admission.end(request.outcome !== overloaded.reason);
      done(null, payload);
    };
  });
  return routes;
}

/** Sets the headers that every answer has, including answers for unknown paths. */
function setCommonHeaders(
  request: FastifyRequest,
  reply: FastifyReply,
  routes: RouteTable,
  done: (error?: Error) => void,
): void {
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
  if (request.headers.origin !== undefined) allowPreflight(request, reply);
  void reply
    .header('allow', [...methods, 'OPTIONS'].join(', '))
    .status(204)
    .send();
  return true;
}

function authenticationHook(
  rules: RouteRules,
  isRead: boolean,
  { authenticator, sessionCookie, limiter, requestBudgetMs, callBudgetMs, hop }: AuthenticationSettings,
): onRequestHookHandler {
  const { accounts, owners = false } = rules;
  const count = limiter.counterOf(rules, isRead);
  const budgetMs = rules.waitsForSeller ? callBudgetMs : requestBudgetMs;
  const carriesHops = callsSellers(rules);

  return (request, reply, done) => {
    request.rules = rules;
    const agentId = owners ? takeAgentId(request) : undefined;
    // A request that names an agent is never anonymous.
    const access = rules.access === 'optional-key' && agentId !== undefined ? 'read' : rules.access;
    // A request without a valid credential is served as an anonymous one.
    const isOpen = access === 'public' || access === 'optional-key';
    // The answer to an anonymous request must not depend on cookies that a browser sends by itself.
    const readsCookie = access !== 'optional-key';
    const hops = carriesHops ? hopsOf(request) : undefined;
    if (hops && isLoop(hops, hop)) return done(callLoops());
    const traceparent = traceRequest(request);
    reply.header('traceparent', traceparent);
    const contextFor = (principal?: Principal): RequestContext =>
      newRequestContext({ requestId: request.id, traceparent, hops, principal, budgetMs });
    const open = (principal?: Principal): void => {
      request.context = contextFor(principal);
      // A public route is counted by address, whether or not the caller has an account.
      count(request, reply, access === 'public' ? undefined : principal, done);
    };
    const reject = (refusal: Error): void => (isOpen ? open() : limiter.reject(request, reply, refusal, done));
    if (access === 'public' && !rules.recognizes) return open();

    reply.header('vary', readsCookie ? 'Authorization, Cookie' : 'Authorization');
    let credential: Credential | null | undefined = bearerCredential(request.raw);
    if (credential === undefined && readsCookie) credential = keyCredential(request.headers);
    if (credential === undefined && readsCookie) {
      credential = sessionCookie.credentialIn(request);
      if (credential && sessionCookie.isForeignWrite(request)) return reject(crossSiteWrite());
    }
    if (!credential) return reject(unauthorized(accounts));
    /** Counts the request for the human, regardless of the agent, before the bus request to identity. */
    const admitOwner = (human: Principal, ownAgentId: string): void => {
      request.context = contextFor(human);
      count(request, reply, human, (limited) => {
        if (limited) return done(limited);
        authenticator.actFor(ownAgentId, human, isRead, request.context).then((principal) => {
          request.context = contextFor(principal);
          done();
        }, done);
      });
    };
    const admit = (principal: Principal): void => {
      if (access === 'public') return open(principal);
      if (agentId === null)
        return done(requestInvalid([{ field: 'agent_id', message: 'must be a uuid, and given once' }]));
      if (agentId !== undefined && principal.accountType === 'human') return admitOwner(principal, agentId);
      if (agentId !== undefined && agentId !== principal.accountId) return done(agentIdOfAnother());
      if (!accounts.includes(principal.accountType))
        return done(wrongAccountType(accounts, owners ? agentIdMissing : edgeRefusals.wrong_account_type));
      if (rules.operators && !principal.isOperator) return done(operatorRequired());
      if (access === 'any-credential') return open(principal);
      // A key without the scope `read` gets the anonymous answer.
      if (access === 'optional-key') return open(principal.scopes.includes('read') ? principal : undefined);
      return principal.scopes.includes(access) ? open(principal) : done(scopeMissing(access));
    };
    const presented = credential;
    request.credential = presented;
    const known = authenticator.known(presented);
    if (known) return admit(known);
    const onRejected = (error: Error): void => {
      if (!isUnauthenticated(error)) return done(error);
      if (isOpen) limiter.countUnknown(request);
      reject(unauthorized(accounts));
    };
    const ask = (): void => void authenticator.ask(presented, contextFor()).then(admit, onRejected);
    limiter.beforeAsking(request, reply, ask, isOpen ? () => open() : done);
  };
}

/**
 * Removes `agent_id` from the query, because handlers refuse unknown parameters.
 * @returns null if it is not a uuid or is given twice.
 */
function takeAgentId(request: FastifyRequest): string | null | undefined {
  const query = request.query as Record<string, unknown>;
  const given = query.agent_id;
  if (given === undefined) return undefined;
  delete query.agent_id;
  return typeof given === 'string' && isUuid(given) ? given.toLowerCase() : null;
}

const isUnauthenticated = (error: Error): boolean =>
  error instanceof Refusal && error.declaration.kind === 'unauthenticated';
