import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SellerRequest {
  headers: IncomingHttpHeaders;
  rawBody: string;
}

/** Handles a request. A returned JSON text is sent with status 200. */
export type Behaviour = (request: SellerRequest, response: ServerResponse) => string | void | Promise<string | void>;

/** A seller's HTTP endpoint on loopback that records its requests. */
export interface TestSeller {
  url: string;
  requests: SellerRequest[];
  behave(behaviour: Behaviour): void;
  stop(): Promise<void>;
}

export async function startSeller(first: Behaviour = () => '{"ok":true}', port = 0): Promise<TestSeller> {
  let behaviour = first;
  const requests: SellerRequest[] = [];
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const request = { headers: incoming.headers, rawBody: Buffer.concat(chunks).toString() };
      requests.push(request);
      void Promise.resolve(behaviour(request, response)).then((json) => {
        if (json !== undefined) response.writeHead(200, { 'content-type': 'application/json' }).end(json);
      });
    });
  }).listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/call`,
    requests,
    behave: (next) => void (behaviour = next),
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Answers with this status and body. */
export const answer =
  (status: number, body: string, headers: Record<string, string> = { 'content-type': 'application/json' }): Behaviour =>
  (_request, response) =>
    void response.writeHead(status, headers).end(body);

/** Returns a behaviour that waits until `release` is called and then does the same as `then`. */
export function held(then: Behaviour = () => '{"ok":true}'): { behaviour: Behaviour; release: () => void } {
  let release = (): void => {};
  const gate = new Promise<void>((resolve) => (release = resolve));
  return {
    release: () => release(),
    behaviour: async (request, response) => {
      await gate;
      return then(request, response);
    },
  };
}
