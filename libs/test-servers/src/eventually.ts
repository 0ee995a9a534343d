import { setTimeout as delay } from 'node:timers/promises';

/**
 * Retries an assertion until it holds, and returns its result.
 * @throws the last error of the assertion after `withinMs`.
 */
export async function eventually<T>(
  assertion: () => T | Promise<T>,
  { withinMs = 20_000, everyMs = 20 } = {},
): Promise<T> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    try {
      return await assertion();
    } catch (error) {
      if (Date.now() >= deadline) throw error;
      await delay(everyMs);
    }
  }
}
