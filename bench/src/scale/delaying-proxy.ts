import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/**
 * Makes a round trip to a server longer by `DELAY_MS`, as a network would. The whole delay is on the way to the server,
 * because timers of Node.js have a resolution of a millisecond. Chunks keep their order, because timers with the same
 * delay do.
 */
const target = new URL(process.env.TARGET_URL!);
const delayMs = Number(process.env.DELAY_MS);

function forward(from: Socket, to: Socket, later: (deliver: () => void) => void): void {
  from.setNoDelay(true);
  from.on('data', (chunk) => later(() => to.write(chunk)));
  from.on('end', () => later(() => to.end()));
  from.on('error', () => to.destroy());
  from.on('close', () => later(() => to.destroy()));
}

const server = createServer((client) => {
  const upstream = connect(Number(target.port), target.hostname);
  forward(client, upstream, (deliver) => setTimeout(deliver, delayMs));
  forward(upstream, client, (deliver) => deliver());
});
process.stdin.resume().once('end', () => process.exit(0));
server.listen(0, '127.0.0.1', () => {
  const proxied = new URL(target);
  proxied.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  console.log(proxied.href);
});
