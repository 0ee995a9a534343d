import { setTimeout as delay } from 'node:timers/promises';

const EVERY_MS = 4;

/** An open loop: begins work at a rate, whether or not earlier work has ended, and waits until all of it has ended. */
export async function atRate(perSecond: number, seconds: number, begin: () => Promise<void>): Promise<void> {
  const inFlight = new Set<Promise<void>>();
  const startedAt = performance.now();
  for (let begun = 0; begun < perSecond * seconds; await delay(EVERY_MS)) {
    const due = Math.min(seconds, (performance.now() - startedAt) / 1_000) * perSecond;
    for (; begun < due; begun += 1) {
      const work = begin().finally(() => inFlight.delete(work));
      inFlight.add(work);
    }
  }
  await Promise.all(inFlight);
}
