import { textOf } from '../bounded-body.js';
import { timed } from '../metrics.js';
import { RequestBudget } from './request-budget.js';

export interface RelayApiSettings {
  /** `https://api.relay.link`, or `https://api.testnets.relay.link` for test networks. */
  url: string;
  apiKey: string;
  timeoutMs: number;
  quotesPerMinute: number;
  statusesPerMinute: number;
}

/** Relay rejected the request with an error code. Source: docs.relay.link, "Quote Errors". */
export class RelayRejected extends Error {
  override readonly name = 'RelayRefused';
  constructor(readonly errorCode: string) {
    super(`Relay refuses: ${errorCode}`);
  }
}

/** Relay gave no usable answer, or requests to it are paused. */
export class RelayUnavailable extends Error {
  override readonly name = 'RelaySilent';
  constructor(
    message: string,
    readonly retryAfterSeconds: number,
  ) {
    super(message);
  }
}

const MAX_RESPONSE_BYTES = 262_144;
/**
 * How long no request is sent to Relay after one failed, so that callers do not wait for a service that may be down.
 */
const BACKOFF_SECONDS = 2;
/** The pause if Relay does not say how long it should be. */
const LIMITED_SECONDS = 10;
const MAX_BACKOFF_SECONDS = 600;
const ERROR_CODE = /^[A-Z][A-Z0-9_]{1,63}$/;

/**
 * The two requests of Relay's HTTP interface that payments need, within Relay's published rate limits. Source:
 * docs.relay.link.
 */
export class RelayApi {
  private readonly quotes: RequestBudget;
  private readonly statuses: RequestBudget;

  constructor(private readonly settings: RelayApiSettings) {
    this.quotes = new RequestBudget(settings.quotesPerMinute);
    this.statuses = new RequestBudget(settings.statusesPerMinute);
  }

  /** `POST /quote/v2`. @throws RelayRejected, RelayUnavailable. */
  quote(body: object, buyerId: string): Promise<unknown> {
    return this.ask(
      this.quotes.take(buyerId),
      '/quote/v2',
      { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } },
      this.quotes,
    );
  }

  /**
   * `GET /intents/status/v3`.
   * @param isUrgent whether Relay said itself that something changed.
   * @throws RelayRejected, RelayUnavailable.
   */
  status(requestId: string, buyerId: string, isUrgent = false): Promise<unknown> {
    const waitSeconds = this.statuses.take(buyerId, isUrgent);
    return this.ask(waitSeconds, `/intents/status/v3?requestId=${requestId}`, {}, this.statuses);
  }

  private async ask(
    waitSeconds: number,
    path: string,
    init: { method?: string; body?: string; headers?: Record<string, string> },
    budget: RequestBudget,
  ): Promise<unknown> {
    if (waitSeconds > 0) throw new RelayUnavailable('Relay is asked as often as it lets itself be asked', waitSeconds);
    return timed(
      'relay',
      budget === this.quotes ? 'quote' : 'status',
      () => this.send(path, init, budget),
      (error) => error instanceof RelayRejected,
    );
  }

  private async send(
    path: string,
    init: { method?: string; body?: string; headers?: Record<string, string> },
    budget: RequestBudget,
  ): Promise<unknown> {
    const { url, apiKey, timeoutMs } = this.settings;
    const headers = { accept: 'application/json', 'x-api-key': apiKey, ...init.headers };
    const response = await fetch(`${url.replace(/\/$/, '')}${path}`, {
      ...init,
      headers,
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    }).catch(() => undefined);
    if (!response || response.status === 429 || response.status >= 500) {
      const seconds =
        response?.status === 429 ? retryAfterSeconds(response.headers.get('retry-after')) : BACKOFF_SECONDS;
      await response?.body?.cancel();
      budget.rest(seconds);
      throw new RelayUnavailable(response ? `Relay answers ${response.status}` : 'Relay does not answer', seconds);
    }
    const answer = await readJson(response);
    if (response.ok) return answer;
    const errorCode = (answer as { errorCode?: unknown } | null)?.errorCode;
    if (typeof errorCode === 'string' && ERROR_CODE.test(errorCode)) throw new RelayRejected(errorCode);
    throw new RelayUnavailable(`Relay answers ${response.status}`, BACKOFF_SECONDS);
  }
}

/** Parses `Retry-After`, which is a number of seconds or a date. */
function retryAfterSeconds(header: string | null): number {
  const seconds = /^\d{1,15}$/.test(header ?? '')
    ? Number(header)
    : Math.ceil((Date.parse(header ?? '') - Date.now()) / 1000);
  return Number.isFinite(seconds) ? Math.min(Math.max(seconds, 1), MAX_BACKOFF_SECONDS) : LIMITED_SECONDS;
}

async function readJson(response: Response): Promise<unknown> {
  const text = await textOf(response, MAX_RESPONSE_BYTES).catch((error: unknown) => {
    throw new RelayUnavailable(`an answer of Relay ${(error as Error).message}`, BACKOFF_SECONDS);
  });
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new RelayUnavailable(`Relay answers ${response.status} and no JSON`, BACKOFF_SECONDS);
  }
}
