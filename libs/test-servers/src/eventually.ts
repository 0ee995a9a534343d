import { setTimeout as delay } from 'node:timers/promises';

/**
 * Tries an assertion until it holds, and gives what it returned.
 * @throws what the assertion threw last, once `withinMs` have passed.
 */
export async function eventually<T>(
  assertion: () => T | Promise<T>,
  { withinMs = 5_000, everyMs = 20 } = {},
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
