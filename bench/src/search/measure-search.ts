import { startMarketplace, type RunningMarketplace } from '@market/testing';
import { setTimeout as delay } from 'node:timers/promises';
import { fire, type Measured } from '../load.js';
import { peakOf } from '../memory.js';
import { changeListings, countActive, seedTo } from './shelf.js';
import { searchKinds, type SearchKind } from './search-kinds.js';

export interface SearchOptions {
  connections: number;
  seconds: number;
  sizes: number[];
}

interface Row {
  name: string;
  measured: Measured[];
}

/** Until what was just started runs as fast as it will. */
const WARM_UP_SECONDS = 10;
const CHANGES_A_SECOND = 50;

/** Every kind of search over a small and a large catalog of one marketplace, one after the other. */
export async function measureSearch({ connections, seconds, sizes }: SearchOptions): Promise<void> {
  const market = await startMarketplace({ mode: 'standalone' });
  try {
    const rows = new Map<string, Row>();
    for (const size of sizes) {
      const seededIn = await timed(() => seedTo(market.databaseUrl, size));
      const followedIn = await timed(() => untilFollowed(market));
      console.log(`${size} listings: written in ${seededIn.toFixed(0)} s, followed ${followedIn.toFixed(1)} s later, peak ${peakOf(market.pid('standalone')!).toFixed(0)} MiB`);
      const restartedIn = await timed(() => market.restart('standalone'));
      const answeredIn = await timed(() => untilFollowed(market));
      console.log(`restarted in ${restartedIn.toFixed(0)} s, first search answered ${answeredIn.toFixed(1)} s later`);
      const measure = (kind: SearchKind, forSeconds: number): Promise<Measured> =>
        fire({ baseUrl: new URL(market.baseUrl).origin, connections, seconds: forSeconds, expect: 200, next: () => ({ method: 'GET', path: `/api/v1/listings?${kind.next()}` }) });
      const kinds = await searchKinds(market.databaseUrl, await countActive(market.databaseUrl));
      for (const kind of kinds) await measure(kind, WARM_UP_SECONDS / kinds.length);
      for (const kind of kinds) keep(rows, kind.name, await measure(kind, seconds));
      const stop = changeListings(market.databaseUrl, CHANGES_A_SECOND);
      keep(rows, `the last but one, while ${CHANGES_A_SECOND} listings a second change`, await measure(kinds.at(-2)!, seconds).finally(stop));
      console.log(`the process peaked at ${peakOf(market.pid('standalone')!).toFixed(0)} MiB`);
    }
    print([...rows.values()], { connections, seconds, sizes });
  } finally {
    await market.stop();
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (performance.now() - startedAt) / 1_000;
}

/** Until search counts what PostgreSQL counts. */
async function untilFollowed(market: RunningMarketplace): Promise<void> {
  const expected = await countActive(market.databaseUrl);
  for (;;) {
    const response = await fetch(`${market.baseUrl}/api/v1/listings?limit=1`);
    const { pagination } = (await response.json()) as { pagination?: { total: number } };
    if (pagination?.total === expected) return;
    await delay(100);
  }
}

function keep(rows: Map<string, Row>, name: string, measured: Measured): void {
  const row = rows.get(name) ?? { name, measured: [] };
  row.measured.push(measured);
  rows.set(name, row);
}

function print(rows: Row[], { connections, seconds, sizes }: SearchOptions): void {
  const width = Math.max(...rows.map(({ name }) => name.length));
  console.log(`\nGET /listings, standalone, ${connections} connections, ${seconds} s each, load on the same machine; milliseconds\n`);
  console.log(`${''.padEnd(width)} ${sizes.map((size) => `${size} listings`.padStart(33)).join('')}   p95 ratio`);
  console.log(`${'kind of search'.padEnd(width)} ${sizes.map(() => '    req/s     p50     p95     p99').join(' ')}`);
  for (const { name, measured } of rows) {
    const cells = measured.map(({ perSecond, p50Ms, p95Ms, p99Ms }) => `${perSecond.toFixed(0).padStart(9)} ${[p50Ms, p95Ms, p99Ms].map((ms) => ms.toFixed(1).padStart(7)).join(' ')}`);
    console.log(`${name.padEnd(width)} ${cells.join(' ')}   ${(measured.at(-1)!.p95Ms / measured[0]!.p95Ms).toFixed(2).padStart(9)}`);
    for (const [status, count] of measured.flatMap(({ unexpected }) => Object.entries(unexpected))) console.log(`  ${count} answers with status ${status}`);
  }
}
