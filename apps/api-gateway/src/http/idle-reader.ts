import type { FastifyReply } from 'fastify';

/** A reader that takes nothing for so long is cut off. */
const READER_IDLE_MS = 30_000;
const CHECK_MS = 10_000;

/**
 * Cuts off a client that does not take what is sent. Node.js tells of a time in which nothing was taken, the first one
 * apart, so that several of them in a row are waited for.
 */
export function cutOffIdleReader({ raw }: FastifyReply): void {
  let idleChecks = 0;
  let checkedAt = -Infinity;
  const check = (): void => {
    const now = performance.now();
    const isInRow = now - checkedAt < 1.5 * CHECK_MS;
    const hasMore = (raw.socket?.writableLength ?? 0) > 0;
    checkedAt = now;
    idleChecks = hasMore ? (isInRow ? idleChecks : 0) + 1 : 0;
    if (idleChecks * CHECK_MS >= READER_IDLE_MS) raw.destroy();
    else raw.setTimeout(CHECK_MS);
  };
  raw.setTimeout(CHECK_MS, check);
}
