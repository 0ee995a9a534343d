import { startMarketplace, type RunningMarketplace } from '@market/testing';
import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { startChild, type Child } from '../child.js';
import { serversNamed, timesOf, usedSince } from '../cost/processor-time.js';
import { LIMITS_AS_SHIPPED, openShop, preparePaid } from '../fixtures.js';
import { fire, type Measured } from '../load.js';
import { JournalHead, type HeadUse } from './journal-head.js';

export interface ScaleOptions {
  /** How many gateways, and as many ledgers, each column has. */
  replicas: number[];
  /** Per gateway, so that all gateways of a column get the same load. */
  connections: number;
  seconds: number;
  /** Calls that are prepared for each of them. */
  paid: number;
}

interface Column {
  replicas: number;
  connections: number;
  calls: Measured;
  head: HeadUse;
  /** The bytes that PostgreSQL stores for a call, with indexes and dead rows. */
  bytes: number;
  /** Milliseconds of a core that all processes of a kind took. */
  spent: Map<string, number>;
  /** The process of the marketplace with the highest share of a core. */
  busiest: { name: string; share: number };
}

const SELLER_MS = 50;
const DATABASE_MS = 1;
const WARM_UP = 500;

/** Measures several processes of the services that a paid call uses, with PostgreSQL behind a delaying proxy. */
export async function measureScale(options: ScaleOptions): Promise<void> {
  const columns: Column[] = [];
  for (const replicas of options.replicas) columns.push(await measureWith(replicas, options));
  print(columns, options);
}

async function measureWith(replicas: number, options: ScaleOptions): Promise<Column> {
  const children: Child[] = [];
  const child = async (...start: Parameters<typeof startChild>): Promise<string> => {
    const started = await startChild(...start);
    children.push(started);
    return started.url;
  };
  const sellerUrl = await child('./limits/seller.js', { SELLER_MS: String(SELLER_MS) });
  let market: RunningMarketplace | undefined;
  try {
    process.stderr.write(`\nstarting ${replicas} of each …\n`);
    market = await startMarketplace({
      mode: 'distributed',
      replicas: { gateway: replicas, 'payments-ledger': replicas },
      databaseThrough: (TARGET_URL) =>
        child('./scale/delaying-proxy.js', { TARGET_URL, DELAY_MS: String(DATABASE_MS) }),
      env: LIMITS_AS_SHIPPED,
    });
    const shop = await openShop(market.baseUrl, sellerUrl);
    const baseUrl = new URL(market.baseUrl).origin;
    const connections = options.connections * replicas;
    const warmUp = await preparePaid(shop, 'warm-up', WARM_UP);
    await fire({ baseUrl, connections, seconds: Infinity, expect: 200, next: () => warmUp.pop() });
    const bytesBefore = await bytesIn(market.databaseUrl);
    const prepared = options.paid * replicas;
    const shots = await preparePaid(shop, 'paid', prepared);
    // The preparation's events are still being delivered.
    await delay(2_000);
    const before = timesOf([...kindsOf(market, children).values()].flat());
    const watched = await JournalHead.watch(market);
    const calls = await fire({ baseUrl, connections, seconds: options.seconds, expect: 200, next: () => shots.pop() });
    const head = await watched.end();
    // Listed again, because PostgreSQL has started other processes since.
    const kinds = kindsOf(market, children);
    const spent = (pids: number[]): number => usedSince(before, timesOf(pids));
    return {
      replicas,
      connections,
      calls,
      head,
      bytes: ((await bytesIn(market.databaseUrl)) - bytesBefore) / prepared,
      spent: new Map([...kinds].map(([kind, pids]) => [kind, spent(pids)])),
      busiest: market.processes
        .map((name) => ({ name, share: spent([market!.pid(name)!]) / 1_000 / calls.seconds }))
        .reduce((most, each) => (each.share > most.share ? each : most)),
    };
  } finally {
    await market?.stop();
    for (const started of children.reverse()) await started.stop();
  }
}

async function bytesIn(databaseUrl: string): Promise<number> {
  const database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  try {
    const { rows } = await database.query<{ bytes: string }>('SELECT pg_database_size(current_database()) AS bytes');
    return Number(rows[0]!.bytes);
  } finally {
    await database.end();
  }
}

/** The processes of a run by kind. */
function kindsOf({ processes, pid }: RunningMarketplace, children: Child[]): Map<string, number[]> {
  const kinds = new Map<string, number[]>();
  for (const name of processes) {
    const kind = name.split('#')[0]!;
    kinds.set(kind, [...(kinds.get(kind) ?? []), pid(name)!]);
  }
  for (const server of ['postgres', 'nats-server', 'redis-server']) kinds.set(server, serversNamed(server));
  return kinds.set('(load, seller, proxy)', [process.pid, ...children.map((child) => child.pid)]);
}

function print(columns: Column[], { seconds }: ScaleOptions): void {
  const [first] = columns as [Column];
  const row = (name: string, cell: (column: Column) => string): void =>
    console.log(`${name.padEnd(42)}${columns.map((column) => cell(column).padStart(14)).join('')}`);
  const msOfCall = (column: Column, ms: number): string => (ms / column.calls.count).toFixed(2);
  console.log(
    `\ndistributed, one edge, ${seconds} s each; PostgreSQL ${DATABASE_MS} ms away, seller answers after ` +
      `${SELLER_MS} ms; ${availableParallelism()} cores for all of it\n`,
  );
  row('gateways, and as many ledgers', ({ replicas }) => String(replicas));
  row('connections', ({ connections }) => String(connections));
  row('paid calls a second', ({ calls }) => calls.perSecond.toFixed(0));
  row('  of those with the first column', ({ calls }) => (calls.perSecond / first.calls.perSecond).toFixed(2));
  row('  p50, p99 ms', ({ calls }) => `${calls.p50Ms.toFixed(0)}, ${calls.p99Ms.toFixed(0)}`);
  row('cores at work', ({ calls, spent }) =>
    ([...spent.values()].reduce((sum, ms) => sum + ms) / 1_000 / calls.seconds).toFixed(2),
  );
  row('busiest process of ours', ({ busiest }) => busiest.name);
  row('  share of a core', ({ busiest }) => busiest.share.toFixed(2));
  console.log('milliseconds of a core for a call');
  for (const kind of first.spent.keys()) row(`  ${kind}`, (column) => msOfCall(column, column.spent.get(kind)!));
  row('KiB in PostgreSQL for a call', ({ bytes }) => (bytes / 1_024).toFixed(1));
  console.log("the journal's head");
  row('  calls charged together, on average', ({ calls, head }) => (calls.count / head.groups).toFixed(1));
  row('  share of time it is locked', ({ head }) => head.heldShare.toFixed(2));
  row('  locked ms, for a group', ({ calls, head }) =>
    ((head.heldShare * calls.seconds * 1_000) / head.groups).toFixed(2),
  );
  row('  ledgers that wait for it, on average', ({ head }) => head.waiting.toFixed(2));
  for (const { replicas, calls } of columns)
    for (const [status, count] of Object.entries(calls.unexpected))
      console.log(`${count} answers with status ${status} with ${replicas}`);
}
