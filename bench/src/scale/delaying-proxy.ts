import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** Stands before a server as a network would: what is sent, either way, arrives `ONE_WAY_MS` later, in its order. */
const target = new URL(process.env.TARGET_URL!);
const oneWayMs = Number(process.env.ONE_WAY_MS);

interface Delayed {
  at: number;
  deliver(): void;
}

const onTheWay: Delayed[] = [];
let isTurning = false;

/** The timers of Node.js wait for a whole millisecond at least, so what is due sooner is looked for on each turn of the event loop. */
function turn(): void {
  const now = performance.now();
  while (onTheWay[0] && onTheWay[0].at <= now) onTheWay.shift()!.deliver();
  isTurning = onTheWay.length > 0;
  if (isTurning) setImmediate(turn);
}

function later(deliver: () => void): void {
  onTheWay.push({ at: performance.now() + oneWayMs, deliver });
  if (isTurning) return;
  isTurning = true;
  setImmediate(turn);
}

function forward(from: Socket, to: Socket): void {
  from.setNoDelay(true);
  from.on('data', (chunk) => later(() => to.write(chunk)));
  from.on('end', () => later(() => to.end()));
  from.on('error', () => to.destroy());
  from.on('close', () => later(() => to.destroy()));
}

const server = createServer((client) => {
  const upstream = connect(Number(target.port), target.hostname);
  forward(client, upstream);
  forward(upstream, client);
});
process.stdin.resume().once('end', () => process.exit(0));
server.listen(0, '127.0.0.1', () => {
  const proxied = new URL(target);
  proxied.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  console.log(proxied.href);
});
