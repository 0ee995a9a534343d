import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The faults of a party on the network. */
export const FAULTS = [
  'refuses connections',
  'never answers',
  'answers HTML',
  'answers other JSON',
  'answers 500',
] as const;

/** Starts servers that show these faults and returns one URL for each. */
export async function startFaultyServers(): Promise<{ urlOf(fault: (typeof FAULTS)[number]): string; stop(): void }> {
  const server = createServer(({ url }, response) => {
    const fault = FAULTS[Number(url!.slice(1, 2))];
    if (fault === 'answers HTML') response.setHeader('content-type', 'text/html').end('<html>It works!</html>');
    if (fault === 'answers other JSON')
      response.setHeader('content-type', 'application/json').end('{"jsonrpc":"2.0","id":1,"ok":[]}');
    if (fault === 'answers 500')
      response.writeHead(500, { 'content-type': 'application/json' }).end('{"error":"internal"}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    urlOf: (fault) =>
      fault === 'refuses connections' ? 'http://127.0.0.1:9' : `http://127.0.0.1:${port}/${FAULTS.indexOf(fault)}`,
    stop: () => void server.close().closeAllConnections(),
  };
}
