import { Agent, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';

/** A request whose path and headers are sent without any correction, as an HTTP client would not send them. */
export interface RawRequest {
  method: string;
  /** Includes the query; ASCII without blanks. */
  target: string;
  /** A list sends the header that many times. */
  headers: Record<string, string | string[]>;
  body?: string | Uint8Array;
}

export interface RawAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** Undefined when the body is not JSON. */
  json: unknown;
  tookMs: number;
}

const TIMEOUT_MS = 20_000;

/** Sends requests unchanged, over keep-alive connections. */
export class RawClient {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 64 });
  private readonly address: { host: string; port: number };

  constructor({ baseUrl }: { baseUrl: string }) {
    const { hostname, port } = new URL(baseUrl);
    this.address = { host: hostname, port: Number(port) };
  }

  /** @throws Error when no answer arrives, neither on a kept connection nor on a new one. */
  async send(request: RawRequest): Promise<RawAnswer> {
    try {
      return await this.exchange(request, this.agent);
    } catch (error) {
      // A server may close a kept connection at the moment it is reused.
      if (!['ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
      return this.exchange(request, new Agent());
    }
  }

  close(): void {
    this.agent.destroy();
  }

  private exchange({ method, target, headers, body }: RawRequest, agent: Agent): Promise<RawAnswer> {
    const sentAt = performance.now();
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    return new Promise((resolve, reject) => {
      let isAnswered = false;
      const outgoing = httpRequest(
        { ...this.address, agent, method, path: target, headers: { ...length, ...headers }, timeout: TIMEOUT_MS },
        (response) => {
          isAnswered = true;
          textOf(response).then(
            (text) =>
              resolve({
                status: response.statusCode!,
                headers: response.headers,
                text,
                json: parsed(text),
                tookMs: performance.now() - sentAt,
              }),
            reject,
          );
        },
      );
      outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)));
      // A server that refuses a large body may answer before it has read the body, and then close the connection.
      outgoing.on('error', (error) => isAnswered || reject(error));
      outgoing.end(body);
    });
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
