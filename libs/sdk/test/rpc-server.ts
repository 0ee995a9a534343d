import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface RpcServer {
  /** With a key in its path, as hosted servers have it. */
  readonly url: string;
  /** Method names, in order. */
  readonly asked: string[];
  close(): Promise<void>;
}

/** A JSON-RPC server of a chain; what a method throws it answers as an error. */
export async function startRpcServer(methods: Record<string, (...params: never[]) => unknown>): Promise<RpcServer> {
  const asked: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const { id, method, params = [] } = JSON.parse(Buffer.concat(chunks).toString()) as { id: unknown; method: string; params?: never[] };
    asked.push(method);
    const answer = (): object => {
      try {
        const serve = methods[method];
        if (!serve) return { error: { code: -32601, message: `no method ${method}` } };
        return { result: serve(...params) };
      } catch (error) {
        return { error: { code: -32000, message: (error as Error).message } };
      }
    };
    const text = JSON.stringify({ jsonrpc: '2.0', id, ...answer() }, (_key, value: unknown) => (typeof value === 'bigint' ? Number(value) : value));
    response.writeHead(200, { 'content-type': 'application/json' }).end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v2/secret-key`,
    asked,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
