import type { INestApplication } from '@nestjs/common';
import type { Server } from 'node:http';
import { Server as Listener } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_INTERVAL_MS = 50;
/** In this time a proxy uses the connections up that it still has, because it gets no new ones. */
const LAST_REQUESTS_MS = 1_000;

/**
 * Stops accepting connections and finishes requests in progress. For `delayMs` before that it accepts requests, and asks
 * their clients to use other connections from then on. Then it accepts no connection for a second, and still takes
 * requests on those that there are, because a proxy may be sending one just when an idle connection is closed. At last
 * idle connections are closed as soon as they have no request in progress, because closing waits for every connection.
 * @param timeoutMs after this time in all, connections with requests in progress are closed as well.
 */
export async function closeEdge(
  app: Pick<INestApplication, 'close'>,
  server: Server,
  { delayMs, timeoutMs }: { delayMs: number; timeoutMs: number },
): Promise<void> {
  server.prependListener('request', (_request, response) => response.setHeader('connection', 'close'));
  const overdue = setTimeout(() => server.closeAllConnections(), timeoutMs);
  let idle: NodeJS.Timeout | undefined;
  try {
    await delay(delayMs);
    // `server.close` would close idle connections as well.
    Listener.prototype.close.call(server);
    await delay(Math.min(delayMs, LAST_REQUESTS_MS));
    idle = setInterval(() => server.closeIdleConnections(), POLL_INTERVAL_MS);
    await app.close();
  } finally {
    clearInterval(idle);
    clearTimeout(overdue);
  }
}
