import type { AccountType, RecoveryHint, RefusalDeclaration } from '@market/contracts';
import { deliverJob } from '@market/contracts/gateway';
import type { NextAction } from '@market/kernel';
import { Refusal } from '@market/messaging';
import { edgeRefusals, requestMalformed, sessionMissing, unauthorized } from './edge-refusals.js';
import { HTTP_BY_KIND, HTTP_BY_STATUS } from './http-status-by-kind.js';

/** The URLs of machine-readable documentation. */
export interface GuidanceLinks {
  docs: string;
  openapi: string;
  llms: string;
}

export interface Recovery {
  next_action: NextAction;
  keep?: readonly string[];
  drop?: readonly string[];
  retry_same_route?: boolean;
  use_new_idempotency_key?: boolean;
  /** Operations or slugs that are spelt similarly to the requested one. */
  did_you_mean?: readonly string[];
  links?: GuidanceLinks & { register?: string; session?: string };
}

export interface ErrorBody {
  success: false;
  error: { code: string; message: string; details?: Record<string, unknown>; recovery?: Recovery };
}

/** An error in terms of HTTP. `bug` is set for an internal error, whose details the client does not get. */
export interface HttpError {
  status: number;
  body: ErrorBody;
  bug: boolean;
}

export const guidanceLinks = (publicUrl: string): GuidanceLinks => ({
  docs: `${publicUrl}/docs/errors`,
  openapi: `${publicUrl}/api/v1/openapi.json`,
  llms: `${publicUrl}/llms.txt`,
});

/** The same links as a header (RFC 8288), for clients that do not read bodies. */
export const guidanceHeader = ({ openapi, llms }: GuidanceLinks): string =>
  `<${openapi}>; rel="service-desc", <${llms}>; rel="describedby"`;

export function toHttpError(error: unknown, requestId: string, links: GuidanceLinks): HttpError {
  if (error instanceof Refusal) return refused(isFromService(error) ? unauthorized() : error, links);
  const status = clientErrorStatus(error);
  if (status === undefined) return { status: 500, body: internalError(requestId), bug: true };
  const meaning = HTTP_BY_STATUS[status];
  if (!meaning) return refused(requestMalformed(error instanceof Error ? error.message : 'unreadable'), links);
  const { code, message, reason, nextAction } = meaning;
  return {
    status: meaning.status,
    body: {
      success: false,
      error: { code, message, details: { reason }, recovery: recoveryOf({ nextAction }, links) },
    },
    bug: false,
  };
}

/** Why a service does not know a credential is not told. */
const isFromService = ({ declaration }: Refusal): boolean =>
  declaration.kind === 'unauthenticated' &&
  declaration !== sessionMissing &&
  declaration !== deliverJob.refusals.delivery_unsigned;

function refused({ declaration, reason, details }: Refusal, links: GuidanceLinks): HttpError {
  const { status, code, nextAction } = HTTP_BY_KIND[declaration.kind];
  const hint = declaration.recovery ?? { nextAction };
  const error = { code: declaration.code ?? code, message: declaration.message };
  // If the contract defines its own code, it also names all keys of details and recovery.
  if (declaration.code)
    return { status, body: { success: false, error: { ...error, details, recovery: bareRecovery(hint) } }, bug: false };
  const recovery = recoveryOf(hint, links);
  const linkTo = (path: string): string => links.openapi.replace(/openapi\.json$/, path);
  const credential = credentialFor(declaration, details);
  if (credential === 'key') recovery.links = { ...links, register: linkTo('register') };
  if (credential === 'session') recovery.links = { ...links, session: linkTo('auth/session') };
  return {
    status,
    body: { success: false, error: { ...error, details: { reason, ...details }, recovery } },
    bug: false,
  };
}

/** What whoever is told to authenticate needs: agents have keys, humans sessions. */
function credentialFor(declaration: RefusalDeclaration, details: object): 'key' | 'session' | undefined {
  if (declaration === sessionMissing || declaration === edgeRefusals.cross_site_write) return 'session';
  if (declaration === edgeRefusals.unauthorized) return 'key';
  if (declaration !== edgeRefusals.wrong_account_type) return undefined;
  return (details as { account_types: AccountType[] }).account_types.includes('agent') ? 'key' : 'session';
}

export function recoveryOf(hint: RecoveryHint, links: GuidanceLinks): Recovery {
  return { ...bareRecovery(hint), keep: hint.keep ?? [], drop: hint.drop ?? [], links };
}

function bareRecovery({ nextAction, retrySameRoute, useNewIdempotencyKey }: RecoveryHint): Recovery {
  return {
    next_action: nextAction,
    ...(retrySameRoute === undefined ? {} : { retry_same_route: retrySameRoute }),
    ...(useNewIdempotencyKey === undefined ? {} : { use_new_idempotency_key: useNewIdempotencyKey }),
  };
}

const internalError = (requestId: string): ErrorBody => ({
  success: false,
  error: {
    code: 'INTERNAL_ERROR',
    message: 'Something failed on our side; name the request id when you ask about it',
    details: { request_id: requestId },
  },
});

/** The 4xx status of an error that Fastify, Nest or Node raised. */
function clientErrorStatus(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const { status, statusCode } = error as { status?: unknown; statusCode?: unknown };
  const found = typeof statusCode === 'number' ? statusCode : status;
  return typeof found === 'number' && found >= 400 && found < 500 ? found : undefined;
}
