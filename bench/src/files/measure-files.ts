import { startMarketplace } from '@market/testing';
import { setTimeout as delay } from 'node:timers/promises';
import { startChild } from '../child.js';
import { LIMITS_AS_SHIPPED, openShop } from '../fixtures.js';
import { addressOf } from '../load.js';
import { residentOf } from '../memory.js';

const MIB_OF_FILE = 32;
const SAMPLE_MS = 100;

/** Calls for many large files at once, and reports how far the memory of each process grows meanwhile. */
export async function measureFiles({
  mode,
  files,
}: {
  mode: 'standalone' | 'distributed';
  files: number;
}): Promise<void> {
  const seller = await startChild('./files/seller.js');
  const market = await startMarketplace({
    mode,
    env: {
      ...LIMITS_AS_SHIPPED,
      GATEWAY_SELLER_TIMEOUT_MS: '120000',
      GATEWAY_STORED_BYTES_PER_ACCOUNT: String(2 ** 40),
    },
  });
  try {
    const shop = await openShop(market.baseUrl, seller.url, files, { pricing_amount: 0, formats: ['binary'] });
    /** @returns the bytes that came. */
    const read = async (n: number, mib: number): Promise<number> => {
      const response = await fetch(`${market.baseUrl}/api/v1/gateway/${shop.listingId}`, {
        method: 'POST',
        headers: {
          authorization: shop.buyers[n]!.authorization,
          'content-type': 'application/json',
          accept: 'application/octet-stream',
          'x-forwarded-for': addressOf(n),
        },
        body: JSON.stringify({ mib }),
      });
      let bytes = 0;
      for await (const piece of response.body!) bytes += piece.length;
      return bytes;
    };
    process.stderr.write('warming up …\n');
    for (let round = 0; round < 3; round += 1) await Promise.all(shop.buyers.map((_, n) => read(n, 1)));
    const processes = market.processes.map((name) => ({ name, pid: market.pid(name)! }));
    const before = processes.map(({ pid }) => residentOf(pid));
    const most = [...before];
    process.stderr.write(`${files} files of ${MIB_OF_FILE} MiB …\n`);
    const startedAt = performance.now();
    const reading = Promise.all(shop.buyers.map((_, n) => read(n, MIB_OF_FILE)));
    const ended = reading.then(() => true);
    while (!(await Promise.race([ended, delay(SAMPLE_MS, false)])))
      processes.forEach(({ pid }, n) => (most[n] = Math.max(most[n]!, residentOf(pid))));
    const whole = (await reading).filter((bytes) => bytes === MIB_OF_FILE * 2 ** 20).length;
    const seconds = (performance.now() - startedAt) / 1_000;
    console.log(`\n${mode}, ${files} files of ${MIB_OF_FILE} MiB at once; seller and readers on the same machine`);
    console.log(`whole: ${whole}; MiB a second: ${((files * MIB_OF_FILE) / seconds).toFixed(0)}`);
    processes.forEach(({ name }, n) =>
      console.log(`${name}: ${before[n]!.toFixed(0)} MiB, grows by at most ${(most[n]! - before[n]!).toFixed(0)}`),
    );
  } finally {
    await market.stop();
    await seller.stop();
  }
}
