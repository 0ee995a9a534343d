import type { INestApplication } from '@nestjs/common';
import type { Server } from 'node:http';

const POLL_INTERVAL_MS = 50;
/** Less than a process may take to stop altogether. */
const DRAIN_TIMEOUT_MS = 20_000;

/**
 * Stops taking connections and answers what was asked. Closing waits for every connection to end, and one that was kept
 * open would end long after its last answer: it is ended as soon as nothing is under way on it.
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
