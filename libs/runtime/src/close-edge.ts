import type { INestApplication } from '@nestjs/common';
import type { Server } from 'node:http';

const POLL_INTERVAL_MS = 50;
/** Less than the time that a process has to stop. */
const DRAIN_TIMEOUT_MS = 20_000;

/**
 * Stops accepting connections and finishes requests in progress. Idle keep-alive connections are closed as soon as they
 * have no request in progress, because closing waits for every connection.
 */
export async function closeEdge(app: Pick<INestApplication, 'close'>, server: Server): Promise<void> {
  const idle = setInterval(() => server.closeIdleConnections(), POLL_INTERVAL_MS);
  const overdue = setTimeout(() => server.closeAllConnections(), DRAIN_TIMEOUT_MS);
  try {
    await app.close();
  } finally {
    clearInterval(idle);
    clearTimeout(overdue);
  }
}
