import type { ErrorBody, Paths } from '@market/sdk';
import createClient, { type Client, type Middleware } from 'openapi-fetch';

/** An answer that is not a success, or the lack of an answer (status 0). */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly reason?: string,
    readonly requestId?: string,
    readonly retryAfterSeconds?: number,
  ) {
    super(message);
  }

  /** Whether the same request may succeed later. */
  get isTemporary(): boolean {
    return this.status === 0 || this.status === 429 || this.status === 502 || this.status === 503;
  }

  static async of(response: Response): Promise<ApiError> {
    const body = (await response.json().catch(() => undefined)) as { error?: ErrorBody } | undefined;
    const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
    return new ApiError(
      response.status,
      body?.error?.code ?? 'UNEXPECTED_RESPONSE',
      body?.error?.message ?? `The marketplace answered with HTTP status ${response.status}.`,
      typeof body?.error?.details?.['reason'] === 'string' ? body.error.details['reason'] : undefined,
      response.headers.get('x-request-id') ?? undefined,
      Number.isNaN(retryAfter) ? undefined : retryAfter,
    );
  }
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

function clientWith(fixed: Record<string, string>): Client<Paths> {
  const client = createClient<Paths>({
    baseUrl: window.location.origin,
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

/** The JSON type of an answer. The browser downloads text answers itself. */
type Body<Answer> = Answer extends { data?: infer Value } ? Exclude<Value, string | undefined> : never;

/** Returns the body of a success; refusals have already been thrown. */
export const bodyOf = <Answer extends { data?: unknown }>({ data }: Answer): Body<Answer> => data as Body<Answer>;
