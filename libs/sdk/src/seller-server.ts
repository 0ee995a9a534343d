import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { SignatureError } from './errors.js';
import { JobReply, RunningJobs, UNITS } from './seller-job.js';
import { FileReply, Reply, reply, UsedReply } from './seller-replies.js';
import { verifyRequest, type SellerCall, type SigningSecrets } from './seller-signature.js';

export interface SellerRequest<B = unknown> {
  /** Of the address that was called, so that one server can sell several listings. */
  path: string;
  /** The value of JSON; of any other type the bytes. */
  body: B;
  /** The bytes of `body`, for what `JSON.parse` does not keep, such as integers beyond 2^53. */
  rawBody: Uint8Array;
  /** As the buyer sent it: JSON, or what the `request_formats` of the listing name. */
  contentType: string;
  call: SellerCall;
  /** Aborted when the marketplace hangs up, so that nobody waits for the answer any more. */
  signal: AbortSignal;
}

/**
 * Returns the `seller_response` that the buyer gets, a `file()` of a type that the listing names, either with what it
 * `used()`, a `job()` that is
 * delivered later, a `reply()` with another status than 200, or a `Response` of `fetch`, which is passed on as it comes. A
 * function that yields (`async function*`) answers with a stream, each `SentEvent` as it comes, if the `formats` of the
 * listing name `sse`.
 */
export type SellerHandler<B = unknown> = (request: SellerRequest<B>) => unknown;

export interface SellerServerOptions {
  /**
   * May be a function, when the secret is known only after the listing was created with this server's address, or when
   * each path has its own.
   */
  secret: SigningSecrets | ((path: string) => SigningSecrets);
  /** A free port by default. */
  port?: number;
  /** 127.0.0.1 by default. */
  host?: string;
  /** Called with the handler's error, which the buyer does not see. Writes it to the console by default. */
  onError?: (error: unknown) => void;
}

export interface SellerServer {
  url: string;
  /** Takes no more calls, waits so long for those under way, then drops their connections. */
  close(options?: { graceMs?: number }): Promise<void>;
}

/** An event of a stream: its data, or an object that has a name or an id, too. Data that is no text is sent as JSON. */
export type SentEvent = string | { data: unknown; event?: string; id?: string };

const MAX_BODY_BYTES = 4 * 1024 * 1024;

/**
 * A small HTTP server that only the marketplace can call: it answers 401 without a valid signature, and 500 when the
 * handler throws.
 */
export async function sellerServer<B = unknown>(
  handler: SellerHandler<B>,
  { secret, port = 0, host = '127.0.0.1', onError = console.error }: SellerServerOptions,
): Promise<SellerServer> {
  const secretsOf = (path: string): SigningSecrets => (typeof secret === 'function' ? secret(path) : secret);
  const jobs = new RunningJobs(onError);
  const server = createServer((request, response) => {
    serve(request, response)
      .catch((error: unknown) => {
        if (error instanceof SignatureError) return serialised(reply(401, { error: error.reason }));
        if (!response.destroyed) onError(error);
        return serialised(reply(500, { error: 'internal_error' }));
      })
      .then((answer) => {
        if (answer instanceof Readable) return send(answer, response);
        if (answer instanceof Response) return passOn(answer, response);
        const { status, bytes, contentType = 'application/json', headers } = answer;
        response
          .writeHead(status, { 'content-type': contentType, 'content-length': bytes.length, ...headers })
          .end(bytes);
      })
      .catch(onError);
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<Serialised | Readable | Response> {
    const rawBody = await readBody(request);
    if (!rawBody) return serialised(reply(413, { error: 'payload_too_large' }));
    const path = request.url!.split('?')[0]!;
    const call = verifyRequest({ headers: request.headers, rawBody, secret: secretsOf(path) });
    if (call.event === 'gateway.cancel') {
      jobs.cancel(call.requestId);
      return serialised(reply(200, {}));
    }
    const hungUp = new AbortController();
    response.once('close', () => response.writableFinished || hungUp.abort());
    const { 'content-type': contentType = 'application/json' } = request.headers;
    const body = valueOf(rawBody, contentType) as B;
    const answer = await handler({ path, body, rawBody, contentType, call, signal: hungUp.signal });
    if (answer instanceof Response) return answer;
    if (answer instanceof FileReply) return { status: 200, ...answer };
    if (answer instanceof JobReply) {
      jobs.start(call, answer, () => secretsOf(path));
      const taken = serialised(reply(202, { estimated_seconds: answer.estimatedSeconds }));
      return { ...taken, headers: { 'x-market-job': 'accepted' } };
    }
    if (answer instanceof Object && Symbol.asyncIterator in answer) return begun(answer as AsyncIterable<SentEvent>);
    if (!(answer instanceof UsedReply)) return serialised(answer instanceof Reply ? answer : reply(200, answer));
    const { units, answer: own } = answer;
    const whole = own instanceof FileReply ? { status: 200, ...own } : serialised(reply(200, own));
    return { ...whole, headers: { [UNITS]: String(units) } };
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    close: ({ graceMs = 0 } = {}) =>
      new Promise((resolve, reject) => {
        const drop = setTimeout(() => server.closeAllConnections(), graceMs);
        server.close((error) => {
          clearTimeout(drop);
          if (error) reject(error);
          else resolve();
        });
      }),
  };
}

async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Text may be JSON whose sender named no type, as a test of the seller does. */
function valueOf(bytes: Buffer, contentType: string): unknown {
  if (!/^(application\/json|text\/plain)\b/i.test(contentType)) return bytes;
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    if (/^text/i.test(contentType)) return bytes;
    throw error;
  }
}

interface Serialised {
  status: number;
  bytes: Uint8Array;
  contentType?: string;
  headers?: Record<string, string>;
}

const serialised = ({ status, body }: Reply): Serialised => ({
  status,
  bytes: Buffer.from(JSON.stringify(body ?? null), 'utf8'),
});

/** Waits for the first event, so that a failure before it is answered with 500. */
async function begun(events: AsyncIterable<SentEvent>): Promise<Readable> {
  const frames = Readable.from(framesOf(events), { highWaterMark: 1 });
  await once(frames, 'readable');
  return frames;
}

/** Sends a stream as fast as it is read. When the marketplace hangs up, the generator returns at its `yield`. */
async function send(
  source: Readable,
  response: ServerResponse,
  status = 200,
  type = 'text/event-stream',
): Promise<void> {
  response.writeHead(status, { 'content-type': type });
  await pipeline(source, response).catch((error: NodeJS.ErrnoException) => {
    // What the hang-up aborted is no failure of the source.
    if (error.code !== 'ERR_STREAM_PREMATURE_CLOSE' && error.name !== 'AbortError') throw error;
  });
}

/** If its body breaks off, so does the answer, and counts as not delivered. */
async function passOn({ status, headers, body }: Response, response: ServerResponse): Promise<void> {
  const type = headers.get('content-type') ?? 'application/octet-stream';
  const units = headers.get(UNITS);
  if (units !== null) response.setHeader(UNITS, units);
  await send(body ? Readable.fromWeb(body as ReadableStream) : Readable.from([]), response, status, type);
}

async function* framesOf(events: AsyncIterable<SentEvent>): AsyncGenerator<string, void, undefined> {
  for await (const sent of events) {
    const { data, event, id } = typeof sent === 'string' ? { data: sent } : sent;
    if (data === undefined) throw new TypeError('An event of a stream is a text or has `data`.');
    // A line break would begin another field.
    if (/[\r\n]/.test(`${event}${id}`)) throw new TypeError('The name and the id of an event have one line.');
    const text = typeof data === 'string' ? data : JSON.stringify(data);
    const lines = [
      ...(event === undefined ? [] : [`event: ${event}`]),
      ...(id === undefined ? [] : [`id: ${id}`]),
      ...text.split(/\r\n?|\n/).map((line) => `data: ${line}`),
    ];
    yield `${lines.join('\n')}\n\n`;
  }
}
