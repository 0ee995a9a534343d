import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SignatureError } from './errors.js';
import { verifyRequest, type SellerCall, type SigningSecrets } from './seller-signature.js';

export interface SellerRequest<B = unknown> {
  body: B;
  /** The bytes of `body`, for what `JSON.parse` does not keep, such as integers beyond 2^53. */
  rawBody: Uint8Array;
  call: SellerCall;
}

/** Returns the `seller_response` that the buyer gets, or a `reply()` with another status than 200. */
export type SellerHandler<B = unknown> = (request: SellerRequest<B>) => unknown;

export interface SellerServerOptions {
  /** May be a function, when the secret is known only after the listing was created with this server's address. */
  secret: SigningSecrets | (() => SigningSecrets);
  /** A free port by default. */
  port?: number;
  /** 127.0.0.1 by default. */
  host?: string;
  /** Called with the handler's error, which the buyer does not see. Writes it to the console by default. */
  onError?: (error: unknown) => void;
}

export interface SellerServer {
  url: string;
  /** Drops open connections and stops. */
  close(): Promise<void>;
}

class Reply {
  constructor(
    readonly status: number,
    readonly body: unknown,
  ) {}
}

export function reply(status: number, body: unknown): Reply {
  return new Reply(status, body);
}

const MAX_BODY_BYTES = 4 * 1024 * 1024;

/**
 * A small HTTP server that only the marketplace can call: it answers 401 without a valid signature, and 500 when the
 * handler throws.
 */
export async function sellerServer<B = unknown>(
  handler: SellerHandler<B>,
  { secret, port = 0, host = '127.0.0.1', onError = console.error }: SellerServerOptions,
): Promise<SellerServer> {
  const server = createServer((request, response) => {
    serve(request)
      .catch((error: unknown) => {
        if (error instanceof SignatureError) return serialised(reply(401, { error: error.reason }));
        if (!response.destroyed) onError(error);
        return serialised(reply(500, { error: 'internal_error' }));
      })
      .then(({ status, bytes }) =>
        response.writeHead(status, { 'content-type': 'application/json', 'content-length': bytes.length }).end(bytes),
      );
  });

  async function serve(request: IncomingMessage): Promise<Serialised> {
    const rawBody = await readBody(request);
    if (!rawBody) return serialised(reply(413, { error: 'payload_too_large' }));
    const secrets = typeof secret === 'function' ? secret() : secret;
    const call = verifyRequest({ headers: request.headers, rawBody, secret: secrets });
    const answer = await handler({ body: JSON.parse(rawBody.toString('utf8')) as B, rawBody, call });
    return serialised(answer instanceof Reply ? answer : reply(200, answer));
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()));
        server.closeAllConnections();
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

interface Serialised {
  status: number;
  bytes: Buffer;
}

const serialised = ({ status, body }: Reply): Serialised => ({
  status,
  bytes: Buffer.from(JSON.stringify(body ?? null), 'utf8'),
});
