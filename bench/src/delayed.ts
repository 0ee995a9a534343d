import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** A proxy before a server, which makes a round trip longer, as a network would. */
export interface Delayed {
  url: string;
  close(): void;
}

/**
 * @param targetUrl the server's URL. The proxy's differs in host and port alone.
 * @param delayOf the milliseconds of a round trip. All of them are on the way to the server, because timers of Node.js
 *   have a resolution of a millisecond.
 */
export async function startDelayed(targetUrl: string, delayOf: () => number): Promise<Delayed> {
  const target = new URL(targetUrl);
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    forward(client, upstream, delayOf);
    forward(upstream, client, () => 0);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxied = new URL(targetUrl);
  proxied.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url: proxied.href, close: () => void server.close() };
}

function forward(from: Socket, to: Socket, delayOf: () => number): void {
  let last = Promise.resolve();
  let waiting = 0;
  /** Chunks keep their order, also when the delay becomes shorter. */
  const later = (deliver: () => void): void => {
    if (waiting === 0 && delayOf() === 0) return deliver();
    waiting += 1;
    const waited = delay(delayOf());
    last = last.then(() => waited).then(() => ((waiting -= 1), deliver()));
  };
  from.setNoDelay(true);
  from.on('data', (chunk) => later(() => to.write(chunk)));
  from.on('end', () => later(() => to.end()));
  from.on('error', () => to.destroy());
  from.on('close', () => later(() => to.destroySoon()));
}
