import { startMarketplace } from '@market/testing';
import { availableParallelism } from 'node:os';
import { atRate } from '../at-rate.js';
import { startChild } from '../child.js';
import { LIMITS_AS_SHIPPED, openShop } from '../fixtures.js';
import { ProcessWatch, type Sample } from './process-watch.js';
import { Scenarios } from './scenarios.js';

interface SteadyOptions {
  mode: 'standalone' | 'distributed';
  minutes: number;
  /** The number of connections with which the load that can be carried is measured. */
  connections: number;
  seconds: number;
}

/** Enough buyers that each stays below the limits of one account. */
const BUYERS = 512;
const CLIENTS = 1_000;
const WARM_UP_SECONDS = 5;
/** Until then caches fill and code is compiled; of a short run it is the first third. */
const SETTLED_AFTER_MINUTES = 5;

/**
 * Plays half of the load that can be carried for a long time, with some large answers, and reports growing memory,
 * queues and delays of the event loop.
 */
export async function measureSteady({ mode, minutes, connections, seconds }: SteadyOptions): Promise<void> {
  const seller = await startChild('./limits/seller.js');
  const market = await startMarketplace({ mode, env: LIMITS_AS_SHIPPED });
  try {
    const shop = await openShop(market.baseUrl, seller.url, BUYERS);
    const scenarios = (): Scenarios => new Scenarios(shop, new URL(market.baseUrl).origin, CLIENTS);
    const carried = scenarios();
    const playFor = async (forSeconds: number): Promise<number> => {
      const [before, startedAt] = [carried.callsMs.length, performance.now()];
      const worker = async (): Promise<void> => {
        while (performance.now() < startedAt + forSeconds * 1_000) await carried.play();
      };
      await Promise.all(Array.from({ length: connections }, worker));
      return (carried.callsMs.length - before) / ((performance.now() - startedAt) / 1_000);
    };
    process.stderr.write('measuring what can be carried …\n');
    await playFor(WARM_UP_SECONDS);
    const perSecond = (await playFor(seconds)) / 2;
    await carried.close();

    process.stderr.write(`half of it, ${perSecond.toFixed(0)} a second, for ${minutes} minutes …\n`);
    const half = scenarios();
    const watch = new ProcessWatch(market);
    await atRate(perSecond, minutes * 60, () => half.play());
    await watch.end();
    await half.close();
    print(watch.samples, half, { mode, minutes, perSecond });
  } finally {
    await market.stop();
    await seller.stop();
  }
}

function print(
  samples: Map<string, Sample[]>,
  { callsMs, failures }: Scenarios,
  { mode, minutes, perSecond }: { mode: string; minutes: number; perSecond: number },
): void {
  const settledAfter = Math.min(SETTLED_AFTER_MINUTES, minutes / 3);
  console.log(
    `\n${mode}, ${minutes} minutes of ${perSecond.toFixed(0)} quotes, payments and paid calls a second, ` +
      `which is half of what was carried; seller and load on the same ${availableParallelism()} cores`,
  );
  console.log(
    `paid calls, small answers: ${callsMs.length}, p50 ${quantile(callsMs, 0.5).toFixed(1)} ms, p99 ` +
      `${quantile(callsMs, 0.99).toFixed(1)} ms; the seller answers at once\n`,
  );
  console.log(
    `process                MiB after ${settledAfter.toFixed(0).padStart(2)} min   at the end   growth   ` +
      'least heap: then   at the end   loop delay p99 ms: median   worst   ' +
      'events queued, most: then   at the end   waiting for a connection',
  );
  for (const [name, all] of samples) {
    // Averages over a fifteenth of the time, because memory varies with garbage collection.
    const span = (minutes * 60_000) / 15;
    const settled = all.filter(({ atMs }) => atMs >= settledAfter * 60_000);
    const first = settled.filter(({ atMs }) => atMs < settled[0]!.atMs + span);
    const last = settled.filter(({ atMs }) => atMs > settled.at(-1)!.atMs - span);
    const resident = (of: Sample[]): number =>
      quantile(
        of.map(({ residentMiB }) => residentMiB),
        0.5,
      );
    // Right after a garbage collection the heap contains little but what is in use.
    const leastHeap = (of: Sample[]): string => Math.min(...of.map(({ heapMiB }) => heapMiB)).toFixed(0);
    const most = (of: Sample[], field: 'queued' | 'waiting'): number => Math.max(...of.map((sample) => sample[field]));
    const delays = settled.map(({ loopDelayP99Ms }) => loopDelayP99Ms);
    const cells = [
      [resident(first).toFixed(0), 16],
      [resident(last).toFixed(0), 13],
      [`${((resident(last) / resident(first) - 1) * 100).toFixed(0)} %`, 9],
      [leastHeap(first), 19],
      [leastHeap(last), 13],
      [quantile(delays, 0.5).toFixed(1), 29],
      [Math.max(...delays).toFixed(1), 8],
      [String(most(first, 'queued')), 28],
      [String(most(last, 'queued')), 13],
      [String(most(settled, 'waiting')), 27],
    ] as const;
    console.log(`${name.padEnd(20)}${cells.map(([cell, width]) => cell.padStart(width)).join('')}`);
  }
  for (const [failure, count] of Object.entries(failures)) console.log(`${count} × ${failure}`);
}

const quantile = (values: number[], q: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * q))] ?? 0;
