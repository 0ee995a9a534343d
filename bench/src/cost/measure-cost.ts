import { startMarketplace } from '@market/testing';
import { setTimeout as delay } from 'node:timers/promises';
import { startChild } from '../child.js';
import { buyerAt, LIMITS_AS_SHIPPED, openShop, preparePaid, quoteShot } from '../fixtures.js';
import { fire, type Shot } from '../load.js';
import { Growth } from './growth.js';
import { ProcessorTime } from './processor-time.js';

interface Options {
  mode: 'standalone' | 'distributed';
  connections: number;
  /** How many requests of each kind are sent. */
  requests: number;
}

/** Measures the processor time of hot requests, which is more reliable than a rate on a machine that is shared with others. */
export async function measureCost({ mode, connections, requests }: Options): Promise<void> {
  const seller = await startChild('./limits/seller.js');
  const market = await startMarketplace({
    mode,
    env: { REGISTRATION_POW_DIFFICULTY: '2', LISTING_POW_DIFFICULTY: '2', ...LIMITS_AS_SHIPPED },
  });
  const growth = await Growth.of(market);
  try {
    const shop = await openShop(market.baseUrl, seller.url);
    const baseUrl = new URL(market.baseUrl).origin;
    const send = (shots: Shot[], expect: number) =>
      fire({ baseUrl, connections, seconds: Infinity, expect, next: () => shots.pop() });
    const many = (shotAt: (index: number) => Shot): Shot[] => Array.from({ length: requests }, (_, n) => shotAt(n));
    const lines: string[] = [];
    const measure = async (name: string, shots: Shot[], expect: number): Promise<void> => {
      process.stderr.write(`${name} …\n`);
      const pids = market.processes.map((process) => market.pid(process)!);
      const walBefore = await growth.wal();
      const before = ProcessorTime.of(pids);
      const { unexpected } = await send(shots, expect);
      // The work that follows a call, such as its events, is part of its cost.
      await delay(500);
      const { own, postgres } = ProcessorTime.of(pids).since(before);
      const cells = [own, postgres, own + postgres].map((ms) => (ms / requests).toFixed(3).padStart(10)).join('');
      const wal = ((await growth.wal()) - walBefore) / requests / 1000;
      lines.push(`${name.padEnd(20)}${cells}${wal.toFixed(1).padStart(10)}`);
      for (const [status, count] of Object.entries(unexpected)) lines.push(`  ${count} answers with status ${status}`);
    };

    await send(await preparePaid(shop, 'warm-up', 2_000), 200);
    await measure('paid retry', await preparePaid(shop, 'paid', requests), 200);
    await measure(
      '402 quote',
      many((n) => quoteShot(shop, 'quote', n)),
      402,
    );
    await measure(
      'GET /me',
      many((n) => ({
        method: 'GET',
        path: '/api/v1/me',
        headers: { authorization: buyerAt(shop, n).authorization },
      })),
      200,
    );
    await measure(
      'GET /listings/{id}',
      many(() => ({ method: 'GET', path: `/api/v1/listings/${shop.listingId}` })),
      200,
    );
    console.log(`\n${mode}, ${connections} connections, ${requests} requests each, milliseconds of a core for each\n`);
    console.log('request                   ours  PostgreSQL   together   KB of WAL');
    lines.forEach((line) => console.log(line));
    process.stderr.write('books …\n');
    await growth.print();
  } finally {
    await growth.end();
    await market.stop();
    await seller.stop();
  }
}
