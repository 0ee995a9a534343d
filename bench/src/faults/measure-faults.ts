import {
  startBalancer,
  startMarketplace,
  withClient,
  type ProcessName,
  type RunningMarketplace,
} from '@market/testing';
import pg from 'pg';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startChild } from '../child.js';
import { startDelayed } from '../delayed.js';
import { LIMITS_AS_SHIPPED, openShop, preparePaid } from '../fixtures.js';
import { printBooks } from '../overload/books.js';
import { SteadyCalls, type Seen } from './steady-calls.js';

const TWO_OF_EACH = { 'api-gateway': 2, gateway: 2, 'payments-ledger': 2, identity: 2, catalog: 2, reputation: 2 };
/** What a small disk holds, in MiB. */
const DISK_MIB = 1_500;
const STREAM_BYTES = 1_048_576;
const CALLS_A_SECOND = 20;
/** For how long no call may fail until a fault counts as healed, and for how long that is waited for. */
const QUIET_MS = 3_000;
const HEALED_WITHIN_MS = 90_000;
const KILLED_MS = 4_000;

interface Fault {
  name: string;
  /** Causes the fault and waits until it is over, or, if it stays, until it has happened. */
  cause(): Promise<void>;
  /** Undoes what stays, after the calls have been watched. */
  undo?(): Promise<unknown>;
}
interface Row {
  name: string;
  seen: Seen;
  /** From the end of the fault to the end of the last failure. */
  healedMs: number;
}

/**
 * Causes each fault of a distributed marketplace with two processes of each service behind nginx, and watches paid calls meanwhile.
 * Every call is repeated until it is delivered, and the books must agree with the answers.
 * @param only the faults whose names contain this.
 */
export async function measureFaults(options: { paid: number; only: string }): Promise<void> {
  const disk = smallDisk();
  await measureOn(disk, options).finally(() => disk?.remove());
}

async function measureOn(disk: SmallDisk | undefined, { paid, only }: { paid: number; only: string }): Promise<void> {
  const seller = await startChild('./limits/seller.js');
  let [delayMs, closeProxy] = [0, (): void => undefined];
  const market = await startMarketplace({
    mode: 'distributed',
    replicas: TWO_OF_EACH,
    async databaseThrough(url) {
      const proxy = await startDelayed(url, () => delayMs);
      closeProxy = proxy.close;
      return proxy.url;
    },
    env: { ...LIMITS_AS_SHIPPED, STOP_DELAY_SECONDS: '1', NATS_STREAM_MAX_BYTES: String(STREAM_BYTES) },
  });
  const nginx = await startBalancer(market.edgeUrls);
  try {
    const shop = await openShop(market.baseUrl, seller.url);
    const calls = new SteadyCalls(nginx.url, CALLS_A_SECOND, await preparePaid(shop, 'paid', paid));
    const faults = faultsOf(market, disk, (ms) => (delayMs = ms));
    const rows: Row[] = [];
    for (const fault of faults.filter(({ name }) => name.includes(only))) rows.push(await watch(fault, calls));
    await calls.end();
    print(rows);
    await printBooks(market.databaseUrl, calls.delivered);
  } finally {
    await nginx.stop();
    await market.stop();
    closeProxy();
    await seller.stop();
  }
}

async function watch({ name, cause, undo }: Fault, calls: SteadyCalls): Promise<Row> {
  process.stderr.write(`${name} …\n`);
  calls.watch();
  await cause();
  const endedAt = performance.now();
  while (
    performance.now() - Math.max(calls.lastFailureAt, endedAt) < QUIET_MS &&
    performance.now() - endedAt < HEALED_WITHIN_MS
  )
    await delay(50);
  const row = { name, seen: calls.seen(), healedMs: Math.max(0, calls.lastFailureAt - endedAt) };
  await undo?.();
  return row;
}

function faultsOf(market: RunningMarketplace, disk: SmallDisk | undefined, setDelay: (ms: number) => unknown): Fault[] {
  const away = (name: ProcessName, ms: number) => async (): Promise<void> => {
    await market.kill(name);
    await delay(ms);
    await market.restart(name);
  };
  const services = market.processes.filter((name) => !name.includes('#'));
  return [
    { name: 'none', cause: () => delay(5_000) },
    {
      name: 'rolling restart of all twelve',
      async cause() {
        for (const name of market.processes) await market.restart(name);
      },
    },
    ...services.map((name): Fault => ({
      name: `kill -9 of one ${name}`,
      cause: async () => void (await market.kill(name)),
      undo: async () => {
        await delay(KILLED_MS);
        await market.restart(name);
      },
    })),
    {
      name: 'PostgreSQL restarted',
      async cause() {
        await market.kill('postgres', 'SIGINT');
        await market.restart('postgres');
      },
    },
    { name: 'PostgreSQL killed, 14 s down', cause: away('postgres', 14_000) },
    ...(disk ? [{ name: 'disk full for 5 s', cause: () => fillDisk(disk, market) }] : []),
    { name: 'connections of PostgreSQL exhausted for 5 s', cause: () => exhaustConnections(market.databaseUrl) },
    { name: 'NATS 3 s down', cause: away('nats', 3_000) },
    {
      name: 'JetStream full for 5 s',
      async cause() {
        await market.kill('reputation');
        await market.kill('reputation#2');
        await untilStreamIsFull(market);
        await delay(5_000);
        await Promise.all([market.restart('reputation'), market.restart('reputation#2')]);
      },
    },
    { name: 'Redis 5 s down', cause: away('redis', 5_000) },
    {
      name: 'PostgreSQL 25 ms away for 10 s',
      async cause() {
        setDelay(25);
        await delay(10_000);
        setDelay(0);
      },
    },
  ];
}

interface SmallDisk {
  directory: string;
  remove(): void;
}

/** A disk for all servers that are started from now on; needs root, and is left out without. */
function smallDisk(): SmallDisk | undefined {
  if (process.getuid?.() !== 0) return void process.stderr.write('no root: the disk is not filled\n');
  const directory = mkdtempSync(join(tmpdir(), 'market-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MIB}m`, 'tmpfs', directory]);
  process.env.TMPDIR = directory;
  return {
    directory,
    remove() {
      execFileSync('umount', ['--lazy', directory]);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function fillDisk({ directory }: SmallDisk, market: RunningMarketplace): Promise<void> {
  const filler = join(directory, 'filler');
  const { bavail, bsize } = statfsSync(directory);
  execFileSync('fallocate', ['--length', String(bavail * bsize), filler]);
  await delay(5_000);
  rmSync(filler);
  // PostgreSQL gives up where it cannot recover, and its supervisor starts it again.
  await withClient(market.databaseUrl, async () => undefined).catch(() => market.restart('postgres'));
}

async function exhaustConnections(databaseUrl: string): Promise<void> {
  const clients: pg.Client[] = [];
  for (;;) {
    const client = new pg.Client({ connectionString: databaseUrl });
    client.on('error', () => undefined);
    try {
      await client.connect();
    } catch {
      break;
    }
    clients.push(client);
  }
  await delay(5_000);
  await Promise.all(clients.map((client) => client.end()));
}

async function untilStreamIsFull(market: RunningMarketplace): Promise<void> {
  for (let seconds = 0; seconds < 120; seconds += 1, await delay(1_000)) {
    const text = await (await fetch(`${market.internalUrl('payments-ledger')}/metrics`)).text();
    const bytes = /^market_event_stream_bytes\S* (\S+)$/m.exec(text)?.[1];
    if (Number(bytes) > 0.97 * STREAM_BYTES) return;
  }
  process.stderr.write('the stream did not become full\n');
}

function print(rows: Row[]): void {
  console.log(`\ntwo processes of each service behind nginx, ${CALLS_A_SECOND} paid calls a second\n`);
  console.log('| fault | calls | failed answers to them | slowest delivery, s | healed after, s |');
  console.log('|---|---|---|---|---|');
  for (const { name, seen, healedMs } of rows)
    console.log(
      `| ${name} | ${seen.calls} | ${seen.failures || 'none'} | ${(seen.slowestMs / 1_000).toFixed(1)} | ` +
        `${(healedMs / 1_000).toFixed(1)} |`,
    );
}
