import type { ErrorBody, Paths, Scope } from '@market/sdk';
import createClient, { type Client, type Middleware } from 'openapi-fetch';
import { words } from '../lib/format.js';

/** An answer that is not a success, or the lack of an answer (status 0). */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly reason?: string,
    readonly requestId?: string,
    readonly retryAfterSeconds?: number,
    /** What is wrong with each field of the request, by its path such as `limits.max_concurrency`. */
    readonly fields: Record<string, string> = {},
    /** What a 402 asks for. */
    readonly data?: unknown,
  ) {
    super(message);
  }

  /** Whether the same request may succeed later. */
  get isTemporary(): boolean {
    return this.status === 0 || this.status === 429 || this.status === 502 || this.status === 503;
  }

  static async of(response: Response): Promise<ApiError> {
    const body = (await response.json().catch(() => undefined)) as { error?: ErrorBody; data?: unknown } | undefined;
    const details = body?.error?.details ?? {};
    const reason = typeof details['reason'] === 'string' ? details['reason'] : undefined;
    const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
    return new ApiError(
      response.status,
      body?.error?.code ?? 'UNEXPECTED_RESPONSE',
      body?.error?.message ?? `The marketplace answered with HTTP status ${response.status}.`,
      reason,
      response.headers.get('x-request-id') ?? undefined,
      Number.isNaN(retryAfter) ? undefined : retryAfter,
      fieldsOf(reason, details, body?.error?.message ?? ''),
      body?.data,
    );
  }
}

/** The fields that these refusals are about, which they do not name. */
const FIELD_OF: Record<string, string> = {
  category_not_found: 'category_id',
  pricing_invalid: 'pricing_amount',
  private_endpoint_required: 'private_endpoint_url',
  endpoint_url_refused: 'private_endpoint_url',
  auth_header_refused: 'auth_header',
  webhook_url_refused: 'url',
  request_body_invalid: 'body',
  request_body_misfit: 'body',
  label_invalid: 'label',
  wallet_address_invalid: 'wallet_address',
};

interface Details {
  fields?: { field: string; message: string }[];
  field?: string;
  problem?: string;
  problems?: { path: string; problem: string }[];
}

/** Some problems are codes. */
const said = (problem: string): string => (/^[a-z_]+$/.test(problem) ? words(problem) : problem);

function fieldsOf(reason: string | undefined, details: Details, message: string): Record<string, string> {
  const { fields, field = FIELD_OF[reason ?? ''], problem = message, problems } = details;
  if (fields) return Object.fromEntries(fields.map((each) => [each.field, each.message]));
  const found = problems?.map((each) => `${each.path || 'The body'}: ${each.problem}`).join('; ') ?? said(problem);
  return field === undefined ? {} : { [field]: found };
}

/** Converts a lost connection to an ApiError. An aborted request is rethrown unchanged. */
export async function reach(request: Request): Promise<Response> {
  try {
    return await fetch(request);
  } catch (error) {
    if (request.signal.aborted) throw error;
    throw new ApiError(0, 'NETWORK_ERROR', 'The marketplace could not be reached. Check the connection and try again.');
  }
}

const throwRefusals: Middleware = {
  async onResponse({ response }) {
    if (!response.ok) throw await ApiError.of(response);
  },
};

function clientWith(fixed: Record<string, string>, key?: string): Client<Paths> {
  const client = createClient<Paths>({
    baseUrl: window.location.origin,
    ...(key !== undefined && { headers: { Authorization: `Bearer ${key}` }, credentials: 'omit' as const }),
    fetch: reach,
    querySerializer: (query) => {
      const given = Object.entries({ ...query, ...fixed }).filter(([, value]) => value !== undefined && value !== '');
      return new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
    },
  });
  client.use(throwRefusals);
  return client;
}

/** Requests of anonymous visitors and signed-in humans. The browser adds the session's cookie. */
export const api = clientWith({});

const agents = new Map<string, Client<Paths>>();

/** Requests of a signed-in human for an agent that it has claimed. */
export function apiOf(agentId: string): Client<Paths> {
  let client = agents.get(agentId);
  if (!client) agents.set(agentId, (client = clientWith({ agent_id: agentId })));
  return client;
}

/** Longer than any step that needs a key takes, also with a clock that is a few minutes slow. */
const KEY_LIFE_MS = 15 * 60_000;

/**
 * Does for an agent what takes a key, which its owner may create but a session may not do by itself: with a key that
 * is made for this, is never shown or stored, and is revoked afterwards.
 */
export async function withKey<T>(
  agentId: string,
  purpose: string,
  scope: Scope,
  use: (client: Client<Paths>) => Promise<T>,
): Promise<T> {
  const expires_at = new Date(Date.now() + KEY_LIFE_MS).toISOString();
  const body = { name: `Console: ${purpose}`, scopes: [scope], expires_at };
  const { data } = await apiOf(agentId).POST('/api/v1/api-keys', { body }).then(bodyOf);
  try {
    return await use(clientWith({}, data.key));
  } finally {
    // If this request is lost, the key ends by itself.
    await apiOf(agentId)
      .DELETE('/api/v1/api-keys/{keyId}', { params: { path: { keyId: data.id } } })
      .catch(() => undefined);
  }
}

/** The JSON type of an answer. The browser downloads text answers itself. */
type Body<Answer> = Answer extends { data?: infer Value } ? Exclude<Value, string | undefined> : never;

/** Returns the body of a success; refusals have already been thrown. */
export const bodyOf = <Answer extends { data?: unknown }>({ data }: Answer): Body<Answer> => data as Body<Answer>;
