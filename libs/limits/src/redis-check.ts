import { Redis } from 'ioredis';

const TIMEOUT_MS = 5_000;

/**
 * Checks whether a Redis server accepts the commands that the limits need. It changes nothing. @throws if the server
 * does not answer.
 */
export async function redisProblems(url: string): Promise<string[]> {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: TIMEOUT_MS,
    commandTimeout: TIMEOUT_MS,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
  });
  // The error event has the reason of a failed connection; the pending command does not.
  let failure: Error | undefined;
  redis.on('error', (error) => void (failure = error));
  try {
    await redis.eval("return redis.call('TIME')", 0);
    return [];
  } catch (error) {
    const { message } = failure ?? (error as Error);
    return [`REDIS_URL: Redis cannot be used (${message}); until then each process counts requests for itself`];
  } finally {
    redis.disconnect();
  }
}
