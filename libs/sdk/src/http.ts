import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { MarketplaceError } from './errors.js';
import type { ErrorBody, Page, Pagination, Offer } from './types.js';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD' | 'OPTIONS';
export type Query = object;

/** Options of a request that can be cancelled. */
export interface Cancellable {
  signal?: AbortSignal;
}

/** A resource or its id. Listings may also be named by their slug. */
export type Identified = string | { id: string };

/** A listing, its id or its slug. When a whole listing is given, no more than its price is paid. */
export type PricedListing = string | { id: string; pricing_amount?: number };

export interface RequestOptions {
  /** Sent as JSON. */
  body?: unknown;
  /** Sent unchanged, instead of `body`. */
  rawBody?: string | Uint8Array;
  headers?: Record<string, string> | Headers;
  /** Values that are undefined are left out. */
  query?: Query;
  signal?: AbortSignal;
  timeoutMs?: number;
}

/** An answer as it was received, with any status. */
export interface HttpAnswer {
  status: number;
  headers: Headers;
  text: string;
  /** The parsed body; undefined when it is not JSON. */
  json: unknown;
}

/** An answer as it was received, or the head of one that is a stream of events. */
export interface OpenAnswer extends HttpAnswer {
  /** Of a stream, whose text is empty. */
  events?: ServerEvents;
}

export type ServerEvents = AsyncGenerator<EventSourceMessage, void, undefined>;

/** Runs `work`, and ends the request if it takes longer. */
type InTime = <T>(ms: number, work: () => Promise<T>) => Promise<T>;

export const EVENT_STREAM = 'text/event-stream';
/** A stream has at least a comment every ten seconds. */
const SILENCE_MS = 30_000;

export interface HttpSettings {
  baseUrl: string;
  authorization?: string;
  fetch: typeof fetch;
  /** Limits every single HTTP request. */
  timeoutMs: number;
  signal?: AbortSignal;
}

interface Envelope {
  success?: unknown;
  data?: unknown;
  error?: ErrorBody;
  pagination?: Pagination;
}

const API_PREFIX = '/api/v1';

/**
 * Sends requests and opens the envelopes of answers. Private fields keep the key out of logs and serialised objects.
 */
export class HttpClient {
  readonly baseUrl: string;
  readonly #settings: HttpSettings;

  constructor(settings: HttpSettings) {
    const trimmed = settings.baseUrl.replace(/\/+$/, '');
    this.baseUrl = trimmed.endsWith(API_PREFIX) ? trimmed : trimmed + API_PREFIX;
    this.#settings = settings;
  }

  get hasCredential(): boolean {
    return Boolean(this.#settings.authorization);
  }

  get timeoutMs(): number {
    return this.#settings.timeoutMs;
  }

  /** @throws MarketplaceError when no answer arrives; any HTTP status is an answer. */
  send(method: Method, path: string, options?: RequestOptions): Promise<HttpAnswer> {
    return this.#exchange(method, path, options, answerOf);
  }

  /** Returns the bytes of a 2xx. @throws MarketplaceError for every other answer. */
  bytes(method: Method, path: string, options?: RequestOptions): Promise<Uint8Array> {
    return this.#exchange(method, path, options, async (response) => {
      if (!response.ok) throw errorOf(await answerOf(response));
      return new Uint8Array(await response.arrayBuffer());
    });
  }

  /**
   * Returns a stream of events unread, and every other answer as `send` does. The events end with the connection.
   * @throws MarketplaceError when no answer arrives; from a stream that is silent or breaks, too.
   */
  open(method: Method, path: string, options?: RequestOptions): Promise<OpenAnswer> {
    return this.#exchange(method, path, options, async (response, inTime) => {
      const isStream = response.ok && response.headers.get('content-type')?.startsWith(EVENT_STREAM);
      if (!isStream || !response.body) return answerOf(response);
      const { status, headers } = response;
      return { status, headers, text: '', json: undefined, events: eventsOf(response.body, inTime) };
    });
  }

  async #exchange<T>(
    method: Method,
    path: string,
    options: RequestOptions = {},
    read: (response: Response, inTime: InTime) => Promise<T>,
  ): Promise<T> {
    const late = new AbortController();
    const cancelled = [options.signal, this.#settings.signal].filter((signal) => signal !== undefined);
    const inTime: InTime = async (ms, work) => {
      const timer = setTimeout(() => late.abort(), ms);
      try {
        return await work();
      } catch (cause) {
        throw cause instanceof MarketplaceError ? cause : noAnswer(cause, late.signal, cancelled);
      } finally {
        clearTimeout(timer);
      }
    };
    return inTime(options.timeoutMs ?? this.#settings.timeoutMs, async () => {
      // In a browser `fetch` fails when it is called as a method of another object than the window.
      const { fetch } = this.#settings;
      const response = await fetch(this.baseUrl + path + queryString(options.query), {
        method,
        headers: this.#headers(options),
        // JSON.stringify(undefined) is undefined, which means no body.
        body: (options.rawBody ?? JSON.stringify(options.body)) as string | undefined,
        // A redirect would send the key to an unchecked address.
        redirect: 'manual',
        signal: AbortSignal.any([late.signal, ...cancelled]),
      });
      return read(response, inTime);
    });
  }

  /** Returns the `data` of a 2xx envelope. @throws MarketplaceError for every other answer. */
  async data<T>(method: Method, path: string, options?: RequestOptions): Promise<T> {
    return envelopeOf(await this.send(method, path, options)).data as T;
  }

  async page<T>(path: string, query?: Query, signal?: AbortSignal): Promise<Page<T>> {
    const answer = await this.send('GET', path, { query, signal });
    const { data, pagination } = envelopeOf(answer);
    if (!Array.isArray(data) || !pagination) throw unexpected(answer);
    return { data: data as T[], pagination };
  }

  /** Reads all items page by page. New items that are added meanwhile cause no item to be repeated or skipped. */
  async *all<T>(path: string, query?: Query, signal?: AbortSignal): AsyncGenerator<T, void, undefined> {
    let cursor: string | undefined;
    do {
      const { data, pagination }: Page<T> = await this.page<T>(path, { ...query, ...(cursor && { cursor }) }, signal);
      yield* data;
      cursor = pagination.next_cursor;
    } while (cursor !== undefined);
  }

  #headers({ headers, body, rawBody }: RequestOptions): Headers {
    const merged = new Headers(headers);
    if ((body !== undefined || rawBody !== undefined) && !merged.has('content-type')) {
      merged.set('content-type', 'application/json');
    }
    if (this.#settings.authorization && !merged.has('authorization')) {
      merged.set('authorization', this.#settings.authorization);
    }
    return merged;
  }
}

/** The id or slug as a segment of a path. */
export const idOf = (resource: Identified): string => encodeURIComponent(rawIdOf(resource));

export const rawIdOf = (resource: Identified): string => (typeof resource === 'string' ? resource : resource.id);

export const idempotency = ({ idempotencyKey }: { idempotencyKey?: string } = {}): Record<string, string> =>
  idempotencyKey ? { 'Idempotency-Key': idempotencyKey } : {};

async function answerOf(response: Response): Promise<HttpAnswer> {
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: parseJson(text) };
}

async function* eventsOf(body: ReadableStream<Uint8Array>, inTime: InTime): ServerEvents {
  const reader = body.pipeThrough(new TextDecoderStream() as never).getReader() as ReadableStreamDefaultReader<string>;
  const events: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => events.push(event) });
  try {
    for (;;) {
      const { done, value } = await inTime(SILENCE_MS, () => reader.read());
      if (done) return;
      parser.feed(value);
      yield* events.splice(0);
    }
  } finally {
    // Closes the connection when the caller stops reading.
    await reader.cancel().catch(() => undefined);
  }
}

function envelopeOf(answer: HttpAnswer): Envelope {
  if (answer.status < 200 || answer.status > 299) throw errorOf(answer);
  const envelope = answer.json as Envelope | undefined;
  if (envelope?.success !== true) throw unexpected(answer);
  return envelope;
}

/** The price in USD. */
export const listedPriceOf = (listing: PricedListing): number | undefined =>
  typeof listing === 'object' ? listing.pricing_amount : undefined;

/** Makes an error of an answer that is not a success. */
export function errorOf(answer: HttpAnswer): MarketplaceError {
  const envelope = answer.json as (Envelope & { data?: { payment?: Offer } }) | undefined;
  if (typeof envelope?.error?.code !== 'string') return unexpected(answer);
  return new MarketplaceError({
    ...envelope.error,
    status: answer.status,
    requestId: answer.headers.get('x-request-id') ?? undefined,
    retryAfterSeconds: retryAfterSeconds(answer.headers),
    payment: envelope.data?.payment,
  });
}

/** Parses `Retry-After`, which is a number of seconds or a date. */
export function retryAfterSeconds(headers: Headers): number | undefined {
  const value = headers.get('retry-after')?.trim();
  if (!value) return undefined;
  if (/^\d+$/.test(value)) return Number(value);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, Math.ceil((date - Date.now()) / 1000));
}

function unexpected(answer: HttpAnswer): MarketplaceError {
  return new MarketplaceError({
    status: answer.status,
    code: 'UNEXPECTED_RESPONSE',
    message: `HTTP ${answer.status} without the marketplace's envelope: ${answer.text.slice(0, 200) || 'empty body'}`,
    requestId: answer.headers.get('x-request-id') ?? undefined,
    retryAfterSeconds: retryAfterSeconds(answer.headers),
  });
}

function noAnswer(cause: unknown, timeout: AbortSignal, cancelled: AbortSignal[]): MarketplaceError {
  if (cancelled.some((signal) => signal.aborted)) {
    return new MarketplaceError({ status: 0, code: 'ABORTED', message: 'The request was cancelled.', cause });
  }
  if (timeout.aborted) {
    return new MarketplaceError({ status: 0, code: 'TIMEOUT', message: 'No answer arrived in time.', cause });
  }
  const reason = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  const message = `The marketplace could not be reached: ${reason instanceof Error ? reason.message : String(reason)}`;
  return new MarketplaceError({ status: 0, code: 'NETWORK_ERROR', message, cause });
}

function queryString(query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  return parameters.size === 0 ? '' : `?${parameters}`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
