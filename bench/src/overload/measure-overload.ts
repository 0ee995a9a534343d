import { startMarketplace } from '@market/testing';
import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { atRate } from '../at-rate.js';
import { startChild } from '../child.js';
import { ProcessorTime } from '../cost/processor-time.js';
import { LIMITS_AS_SHIPPED, openShop, preparePaid } from '../fixtures.js';
import { Answers, type Summary } from './answers.js';
import { printBooks } from './books.js';
import { HealthWatch } from './health-watch.js';
import { PaidCalls } from './paid-calls.js';

export interface OverloadOptions {
  mode: 'standalone' | 'distributed';
  /** The number of connections with which the load that can be carried is measured. */
  connections: number;
  seconds: number;
  /** The number of calls that are prepared; some must be left at the end. */
  paid: number;
  /** Multiples of the load that can be carried. */
  times: number[];
  /** The load gets the last core for itself, and the marketplace with its database and the seller get the others. */
  apart: boolean;
}

interface Row {
  name: string;
  /** Calls a second. */
  offered: number;
  sent: number;
  seconds: number;
  answers: Summary;
  health: { asked: number; failed: number; slowestMs: number };
  /** Processor time of the marketplace with its PostgreSQL, and of the load. */
  usedMs: number;
  loadMs: number;
}

/** The number of clients. A call is not sent while all of them wait. */
const CLIENTS = 1_000;
const WARM_UP_SECONDS = 3;
const REST_MS = 2_000;

/**
 * Offers paid calls at multiples of the rate that can be carried, whether or not they are answered. Refused calls are repeated.
 * At the end every call is repeated until it is delivered, and the books must agree with the answers.
 */
export async function measureOverload(options: OverloadOptions): Promise<void> {
  const { mode, connections, seconds, paid, times, apart } = options;
  const lastCore = availableParallelism() - 1;
  // Processes that are started after this stay on these cores.
  if (apart) moveTo(lastCore === 1 ? '0' : `0-${lastCore - 1}`);
  const seller = await startChild('./limits/seller.js');
  const market = await startMarketplace({ mode, env: LIMITS_AS_SHIPPED });
  if (apart) moveTo(String(lastCore));
  try {
    const shop = await openShop(market.baseUrl, seller.url);
    const calls = new PaidCalls(new URL(market.baseUrl).origin, CLIENTS, await preparePaid(shop, 'paid', paid));
    const measure = async (
      name: string,
      offered: number,
      work: (answers: Answers) => Promise<number>,
    ): Promise<Row> => {
      process.stderr.write(`${name} …\n`);
      const pids = market.processes.map((process) => market.pid(process)!);
      const [before, loadBefore] = [ProcessorTime.of(pids), process.cpuUsage()];
      const [answers, health, startedAt] = [new Answers(), new HealthWatch(market), performance.now()];
      const sent = await work(answers);
      const took = (performance.now() - startedAt) / 1_000;
      const load = process.cpuUsage(loadBefore);
      const healthSeen = await health.end();
      await delay(REST_MS);
      // The work that follows a call, such as its events, is part of its cost.
      const { own, postgres } = ProcessorTime.of(pids).since(before);
      return {
        name,
        offered: offered || sent / took,
        sent,
        seconds: took,
        answers: answers.summary(),
        health: healthSeen,
        usedMs: own + postgres,
        loadMs: (load.user + load.system) / 1_000,
      };
    };
    const closed = (forSeconds: number) => async (answers: Answers) => {
      const endAt = performance.now() + forSeconds * 1_000;
      let sent = 0;
      const worker = async (): Promise<void> => {
        while (performance.now() < endAt && (await calls.sendNext(answers))) sent += 1;
      };
      await Promise.all(Array.from({ length: connections }, worker));
      return sent;
    };
    const open = (perSecond: number) => async (answers: Answers) => {
      let sent = 0;
      await atRate(perSecond, seconds, async () => void ((await calls.sendNext(answers)) && (sent += 1)));
      return sent;
    };
    await calls.connect();
    await measure('warming up', 0, closed(WARM_UP_SECONDS));
    const carried = await measure(`${connections} connections`, 0, closed(seconds));
    const rows = [carried];
    for (const each of times)
      rows.push(await measure(`${each} times`, each * carried.offered, open(each * carried.offered)));
    process.stderr.write('delivering what is left …\n');
    await calls.sendAll(connections);
    print(rows, options);
    await printBooks(market.databaseUrl, calls.delivered);
  } finally {
    await market.stop();
    await seller.stop();
  }
}

/** Moves every thread of this process to these cores. */
const moveTo = (cores: string): Buffer => execFileSync('taskset', ['-apc', cores, String(process.pid)]);

function print(rows: Row[], { mode, seconds, apart }: OverloadOptions): void {
  const carried = goodputOf(rows[0]!);
  const where = apart ? 'load on a core of its own' : 'seller and load on the same cores';
  console.log(`\n${mode}, ${seconds} s each, ${where}; calls a second, milliseconds\n`);
  console.log(
    'load                offered    sent  delivered  of carried    p50    p99   refused  in 50 ms    p99  bare   ' +
      'health p100  failed  ms each  load   others',
  );
  for (const row of rows) {
    const { name, offered, sent, seconds: took, answers, health, usedMs, loadMs } = row;
    const cells = [
      [offered.toFixed(0), 8],
      [(sent / took).toFixed(0), 8],
      [goodputOf(row).toFixed(0), 11],
      [`${((goodputOf(row) / carried) * 100).toFixed(0)} %`, 12],
      [answers.deliveredP50Ms.toFixed(0), 7],
      [answers.deliveredP99Ms.toFixed(0), 7],
      [(answers.refused / took).toFixed(0), 10],
      [`${(answers.promptShare * 100).toFixed(1)} %`, 10],
      [answers.refusedP99Ms.toFixed(0), 7],
      [String(answers.withoutRetryAfter), 6],
      [health.slowestMs.toFixed(0), 14],
      [String(health.failed), 8],
      [(usedMs / answers.delivered).toFixed(2), 9],
      [(loadMs / took / 1_000).toFixed(2), 6],
    ] as const;
    console.log(`${name.padEnd(19)}${cells.map(([cell, width]) => cell.padStart(width)).join('')}   ${answers.others}`);
  }
  console.log(
    '\nrefused: 503; in 50 ms: the share of them; bare: those without Retry-After; ' +
      'failed: of the health requests;\n' +
      'ms each: of a core, by the marketplace with its PostgreSQL, for a call that is delivered; ' +
      'load: the cores that the load takes\n',
  );
}

const goodputOf = ({ answers, seconds }: Row): number => answers.delivered / seconds;
