import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Question {
  id: number;
  method: string;
  params?: unknown[];
}
interface Answer {
  id: number;
  result: unknown;
}

/** An RPC server that passes everything on, but for what `tamper` makes of an answer; it hangs up where that throws. */
export interface RpcProxy {
  readonly url: string;
  target: string;
  tamper: ((question: Question, result: unknown) => unknown) | null;
  stop(): void;
}

/** A node behind two URLs, its own and the proxy's, as if they were two servers. */
export const asTwoServers =
  (proxy: RpcProxy) =>
  ({ node }: { node: { url: string } }): string[] => {
    proxy.target = node.url;
    return [node.url, proxy.url];
  };

export async function startRpcProxy(): Promise<RpcProxy> {
  const server = createServer((request, response) => {
    const handle = async (): Promise<void> => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const asked = JSON.parse(Buffer.concat(chunks).toString()) as Question | Question[];
      const { tamper } = proxy;
      const passed = await fetch(proxy.target, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(asked) });
      const answered = (await passed.json()) as Answer | Answer[];
      const questions = [asked].flat();
      for (const answer of [answered].flat()) if (tamper) answer.result = tamper(questions.find(({ id }) => id === answer.id)!, answer.result);
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answered));
    };
    handle().catch(() => request.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy: RpcProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    target: '',
    tamper: null,
    stop: () => void server.close().closeAllConnections(),
  };
  return proxy;
}
