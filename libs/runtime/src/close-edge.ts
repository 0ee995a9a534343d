import type { INestApplication } from '@nestjs/common';
import type { Server } from 'node:http';
import { Server as Listener } from 'node:net';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';

const POLL_INTERVAL_MS = 50;
/** A proxy that gets no new connections uses up those that it has. If it uses none for so long, it sends hardly any requests. */
const UNUSED_MS = 1_000;
const MOST_LAST_REQUESTS_MS = 10_000;
/** A turn of the event loop that takes less has found next to nothing to do. */
const QUIET_TURN_MS = 0.5;
const MOST_TURNS = 200;

/**
 * Stops accepting connections and finishes requests in progress, so that a proxy in front loses none. For `delayMs` it
 * accepts requests, and asks their clients to use other connections from then on. Then it refuses new connections and
 * goes on serving the open ones until a proxy has used none of them for a second, at most ten seconds: it may be sending a
 * request just when an idle connection is closed. At last connections are closed as soon as they have no request in
 * progress, because closing waits for every connection.
 * @param timeoutMs after this time in all, connections with requests in progress are closed as well.
 */
export async function closeEdge(
  app: Pick<INestApplication, 'close'>,
  server: Server,
  { delayMs, timeoutMs }: { delayMs: number; timeoutMs: number },
): Promise<void> {
  let usedAt = performance.now();
  server.prependListener('request', (_request, response) => {
    usedAt = performance.now();
    response.setHeader('connection', 'close');
  });
  const overdue = setTimeout(() => server.closeAllConnections(), timeoutMs);
  try {
    await delay(delayMs);
    await quietTurn();
    // `server.close` would close idle connections as well.
    Listener.prototype.close.call(server);
    const closedAt = performance.now();
    const unusedMs = Math.min(delayMs, UNUSED_MS);
    const until = closedAt + Math.min(MOST_LAST_REQUESTS_MS, timeoutMs / 2);
    while (performance.now() < Math.min(Math.max(usedAt, closedAt) + unusedMs, until)) await delay(POLL_INTERVAL_MS);
    await closeIdle(server);
    let isClosed = false;
    const closing = app.close().finally(() => (isClosed = true));
    for (; !isClosed; await Promise.race([closing, delay(POLL_INTERVAL_MS)])) await closeIdle(server);
    await closing;
  } finally {
    clearTimeout(overdue);
  }
}

async function closeIdle(server: Server): Promise<void> {
  await quietTurn();
  server.closeIdleConnections();
}

/**
 * Waits for a turn of the event loop in which next to nothing arrived. Connections and requests that have arrived and
 * that nobody has seen yet are lost when their socket is closed, and timers run before what has arrived is read.
 */
async function quietTurn(): Promise<void> {
  for (let turns = 0; turns < MOST_TURNS; turns += 1) {
    const began = performance.now();
    await nextTurn();
    if (performance.now() - began < QUIET_TURN_MS) return;
  }
}
