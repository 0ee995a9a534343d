import { startMarketplace } from '@market/testing';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { startChild } from '../child.js';
import { LIMITS_AS_SHIPPED, openShop, preparePaid } from '../fixtures.js';
import { fire } from '../load.js';
import { ProcessorTime } from '../cost/processor-time.js';

/** Those of `switch.ts`, in its order. */
const STATES = ['nothing', 'metrics', 'metrics and logs', 'traces of failures', 'all traces'];

/** Measures the cost of metrics, logs and traces: the processor time of a paid retry in one process in which each is on or off in turns. */
export async function measureObserved(connections: number, requests: number, rounds: number): Promise<void> {
  const collector = createServer((request, response) => request.resume().on('end', () => response.end()));
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  const seller = await startChild('./limits/seller.js');
  const market = await startMarketplace({
    mode: 'standalone',
    env: {
      REGISTRATION_POW_DIFFICULTY: '2',
      LISTING_POW_DIFFICULTY: '2',
      LOG_LEVEL: 'info',
      NODE_OPTIONS: `--import ${new URL('./switch.js', import.meta.url).href}`,
      BENCH_COLLECTOR_URL: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
      ...LIMITS_AS_SHIPPED,
    },
  });
  const pid = market.pid('standalone')!;
  const costs = STATES.map((): number[] => []);
  try {
    const shop = await openShop(market.baseUrl, seller.url);
    const baseUrl = new URL(market.baseUrl).origin;
    const measure = async (run: string): Promise<number> => {
      const shots = await preparePaid(shop, run, requests);
      const before = ProcessorTime.of([pid]);
      await fire({ baseUrl, connections, seconds: Infinity, expect: 200, next: () => shots.pop() });
      await delay(300);
      return ProcessorTime.of([pid]).since(before).own / requests;
    };
    let state = 0;
    const become = async (wanted: number): Promise<void> => {
      for (; state !== wanted; state = (state + 1) % STATES.length) {
        process.kill(pid, 'SIGUSR2');
        await delay(50);
      }
    };
    for (let n = 0; n < 3; n += 1) await measure(`warm-up ${n}`);
    for (let round = 0; round < rounds; round += 1) {
      process.stderr.write(`round ${round + 1} of ${rounds} …\n`);
      // Forwards and then backwards, so that costs that grow with time affect all of them equally.
      for (const wanted of round % 2 === 0 ? STATES.keys() : [...STATES.keys()].toReversed()) {
        await become(wanted);
        costs[wanted]!.push(await measure(`${wanted} ${round}`));
      }
    }
  } finally {
    await market.stop();
    await seller.stop();
    collector.close();
  }
  const [base] = costs.map(median);
  console.log(
    `standalone, ${connections} connections, ${rounds} times ${requests} paid retries each; ` +
      "median of milliseconds of a core for one, PostgreSQL's left out\n",
  );
  costs.forEach((values, index) => {
    const cost = median(values);
    console.log(
      `${STATES[index]!.padEnd(20)}${cost.toFixed(3).padStart(8)}${`${((cost / base! - 1) * 100).toFixed(1)} %`.padStart(10)}`,
    );
  });
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return (sorted[Math.floor((sorted.length - 1) / 2)]! + sorted[Math.ceil((sorted.length - 1) / 2)]!) / 2;
}
