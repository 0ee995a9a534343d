import {
  EVENT_STREAM,
  readContent,
  readStream,
  STREAMS_READ_MS,
  streamGrew,
  streamsRead,
  type OpenStream,
  type StoredContent,
} from '@market/contracts/gateway';
import type { PayloadOf } from '@market/contracts';
import { Limits, type Permit } from '@market/limits';
import { HandleSignal, MessageBus, newRequestContext, Refusal, type RequestContext } from '@market/messaging';
import { Jobs, platformConfig, streamDrainMs, type ConfigOf } from '@market/runtime';
import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { tooManyStreams } from '../http/edge-refusals.js';
import { cutOffIdleReader } from '../http/idle-reader.js';
import { RateLimiter } from '../http/rate-limiter.js';
import { COMMENT } from '../http/server-sent-events.js';
import { StreamReader } from './stream-reader.js';

const MAX_READERS_OF_CALL = 8;
const MAX_READERS_OF_ACCOUNT = 20;
/** The events of a longer stream are no part of a JSON answer. */
const MAX_COLLECTED_BYTES = 4_194_304;
const MAX_COLLECTED_EVENTS = 10_000;
/** Keeps proxies from closing a connection that is silent. */
const COMMENT_AFTER_MS = 10_000;
const STOP_POLL_MS = 100;
/** The id of the last event, with which an EventSource that reconnects ends. */
const LAST_EVENT_ID = 'market.end';

/** A stream as its reader asks for it: while it comes, or from what is stored. */
export type ReadableStream = Pick<OpenStream, 'callId' | 'contentId' | 'text'> & { attempt?: number | undefined };

interface CollectedEvent {
  event: string;
  data: unknown;
  id: string | null;
}

/** The part of a gateway result that says what a stream was. */
interface StreamResult {
  seller_response: { content_type: string; size: number; sha256: string; events: number; outcome: string };
}

/** Sends the streams that calls are answered with, event by event, or collects them. */
@Injectable()
export class AnswerStreams implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly readers = new Map<string, Set<StreamReader>>();
  /** The streams whose calls are counted here until they are over. */
  private readonly counted = new Set<string>();
  private readonly stop = new AbortController();

  constructor(
    private readonly bus: MessageBus,
    private readonly limits: Limits,
    private readonly limiter: RateLimiter,
    private readonly jobs: Jobs,
    @Inject(platformConfig.token) private readonly platform: ConfigOf<typeof platformConfig>,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.every('tell-streams-read', STREAMS_READ_MS, async () => this.tellRead());
  }

  /** Lets streams end that end soon. The readers of others come back to another process. */
  async onModuleDestroy(): Promise<void> {
    const until = Date.now() + streamDrainMs(this.platform);
    while (this.streamsRead().length > 0 && Date.now() < until) await delay(STOP_POLL_MS);
    this.stop.abort();
  }

  @HandleSignal(streamGrew)
  hear(news: PayloadOf<typeof streamGrew>): void {
    this.readers.get(news.contentId)?.forEach((reader) => reader.hear(news));
  }

  private tellRead(): void {
    const contentIds = this.streamsRead();
    if (contentIds.length > 0) this.bus.signal(streamsRead, { contentIds });
  }

  private streamsRead(): string[] {
    return [...this.readers].filter(([, readers]) => [...readers].some(({ mayRead }) => mayRead)).map(([id]) => id);
  }

  /** Counts the call of an open stream until its seller has ended it, also if nobody reads it any more. */
  countUntilOver(stream: OpenStream, request: FastifyRequest): void {
    const { contentId } = stream;
    if (this.counted.has(contentId)) return;
    this.counted.add(contentId);
    const end = (): void => void this.counted.delete(contentId);
    this.limiter.countWhile(request, this.waitUntilOver(stream, request).then(end, end));
  }

  /** Goes on after the first occurrence of Last-Event-ID, and from the beginning if that is unknown. */
  async send(stream: ReadableStream, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const afterEvent = request.headers['last-event-id'];
    if (afterEvent === LAST_EVENT_ID) return void reply.code(204).send();
    const signal = await this.admit(stream, request, reply);
    const offset = typeof afterEvent !== 'string' ? 0 : await this.offsetAfter(stream, afterEvent, request);
    cutOffIdleReader(reply);
    void reply
      .type(EVENT_STREAM)
      .header('cache-control', 'no-store, no-transform')
      .header('x-accel-buffering', 'no')
      .header('x-market-request-id', stream.callId)
      .send(Readable.from(this.frames(offset === 0 ? stream : { ...stream, text: '' }, offset, request, signal)));
  }

  /**
   * Reads the whole stream.
   * @returns the gateway result with its events; null if the stream is not over in the time of the request, or was cut.
   */
  async collect(stream: ReadableStream, request: FastifyRequest, reply: FastifyReply): Promise<object | null> {
    const inTime = AbortSignal.timeout(Math.max(1, request.context.deadlineAt - Date.now() - 1_000));
    const signal = AbortSignal.any([await this.admit(stream, request, reply), inTime]);
    let events: CollectedEvent[] | undefined = [];
    const parser = createParser({ onEvent: (event) => events?.push(collected(event)) });
    const texts = this.read(stream, 0, request, signal);
    let size = 0;
    for (;;) {
      const { done, value } = await texts.next();
      if (done) return value === null ? null : withEvents(JSON.parse(value!) as StreamResult, events);
      size += Buffer.byteLength(value!);
      if (size > MAX_COLLECTED_BYTES) events = undefined;
      if (events) parser.feed(value!);
      if (events && events.length > MAX_COLLECTED_EVENTS) events = undefined;
    }
  }

  /** Counts a reader until its connection closes. @throws Refusal `too_many_streams`. */
  private async admit({ callId }: ReadableStream, request: FastifyRequest, reply: FastifyReply): Promise<AbortSignal> {
    const accountId = request.context.principal?.accountId;
    const permits: Permit[] = [];
    const take = async (name: string, key: string, limit: number): Promise<void> => {
      const permit = await this.limits.acquire(name, key, limit);
      if (permit) return void permits.push(permit);
      for (const taken of permits) taken.release();
      throw tooManyStreams(limit);
    };
    await take('edge.readers-of-call', callId, MAX_READERS_OF_CALL);
    if (accountId) await take('edge.readers-of-account', accountId, MAX_READERS_OF_ACCOUNT);
    const closed = new AbortController();
    const end = (): void => {
      closed.abort();
      for (const permit of permits) permit.release();
    };
    reply.raw.once('close', end);
    if (request.raw.socket.destroyed || reply.raw.destroyed) end();
    return AbortSignal.any([closed.signal, this.stop.signal]);
  }

  private async *frames(
    stream: ReadableStream,
    offset: number,
    request: FastifyRequest,
    signal: AbortSignal,
  ): AsyncGenerator<string, void, undefined> {
    const { callId, attempt } = stream;
    yield frameOf('market.open', { request_id: callId, ...(attempt === undefined ? {} : { attempt }) });
    const texts = this.read(stream, offset, request, signal);
    let lastAt = Date.now();
    for (;;) {
      const { done, value } = await texts.next();
      if (done) {
        if (value !== null) yield frameOf('market.result', resultOf(JSON.parse(value!) as StreamResult), LAST_EVENT_ID);
        return;
      }
      if (value === '' && Date.now() - lastAt < COMMENT_AFTER_MS) continue;
      lastAt = Date.now();
      yield value! || COMMENT;
    }
  }

  /** Reads behind what can come. */
  private async waitUntilOver(stream: OpenStream, request: FastifyRequest): Promise<void> {
    const texts = this.read({ ...stream, text: '' }, Infinity, request, this.stop.signal);
    while (!(await texts.next()).done);
  }

  private async *read(
    { callId, contentId, text }: ReadableStream,
    offset: number,
    request: FastifyRequest,
    signal: AbortSignal,
  ): AsyncGenerator<string, string | null, undefined> {
    const ask = (from: number) =>
      this.ask({ callId, contentId, offset: Math.min(from, Number.MAX_SAFE_INTEGER) }, contextOf(request));
    const reader = new StreamReader({ text, offset }, ask, signal);
    const readers = this.readers.get(contentId) ?? new Set();
    this.readers.set(contentId, readers.add(reader));
    try {
      return yield* reader.read();
    } finally {
      readers.delete(reader);
      if (readers.size === 0) this.readers.delete(contentId);
    }
  }

  /** A service that is away for a moment ends no stream. */
  private async ask(
    input: { callId: string; contentId: string; offset: number },
    context: RequestContext,
  ): ReturnType<ConstructorParameters<typeof StreamReader>[1]> {
    try {
      return await this.bus.request(readStream, input, context);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { text: '', state: 'open' };
    }
  }

  /** Stored pieces hold whole events. */
  private async offsetAfter({ contentId }: ReadableStream, eventId: string, request: FastifyRequest): Promise<number> {
    for (let offset = 0; ;) {
      const { base64 } = await this.bus.request(readContent, { contentId, offset }, contextOf(request));
      const text = Buffer.from(base64, 'base64').toString();
      if (text === '') return 0;
      let end = 0;
      for (const frame of text.split(/(?<=\n\n)/)) {
        end += Buffer.byteLength(frame);
        if (frame.split('\n').includes(`id: ${eventId}`)) return offset + end;
      }
      offset += end;
    }
  }
}

/** A stream that has ended, and is read from what is stored. */
export const streamOf = (callId: string, { id: contentId, attempt }: StoredContent): ReadableStream => ({
  callId,
  contentId,
  attempt,
  text: '',
});

/** Each request for a part of a stream has its own deadline. */
const contextOf = ({ context: { requestId, traceparent, principal } }: FastifyRequest): RequestContext =>
  newRequestContext({ requestId, traceparent, principal });

const frameOf = (event: string, data: object, id?: string): string =>
  `event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;

/** The gateway result, with the facts of the stream in place of the seller's answer. */
function resultOf({ seller_response, ...result }: StreamResult): object {
  const { events, size, sha256, outcome } = seller_response;
  return { ...result, events, bytes: size, sha256, outcome };
}

function withEvents(result: StreamResult, events: CollectedEvent[] | undefined): object {
  const { events: _, ...facts } = result.seller_response;
  return { ...result, seller_response: { ...facts, ...(events === undefined ? {} : { events }) } };
}

/** A number or a word is text as well as JSON, so that only what can be nothing else is read as JSON. */
const collected = ({ event = 'message', data, id = '' }: EventSourceMessage): CollectedEvent => ({
  event,
  data: jsonOr(data),
  id: id || null,
});

function jsonOr(text: string): unknown {
  if (!/^\s*[{[]/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
