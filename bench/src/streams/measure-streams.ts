import { startMarketplace } from '@market/testing';
import { setTimeout as delay } from 'node:timers/promises';
import { startChild } from '../child.js';
import { LIMITS_AS_SHIPPED, openShop } from '../fixtures.js';
import { addressOf } from '../load.js';
import { ProcessWatch } from '../steady/process-watch.js';

interface StreamsOptions {
  mode: 'standalone' | 'distributed';
  streams: number;
  perSecond: number;
  seconds: number;
}

/** Streams begin one after the other, because the cost of a call is measured elsewhere. */
const START_EVERY_MS = 50;

/** Reads many streams at once, and reports what is added to the time of each event, and whether memory grows. */
export async function measureStreams({ mode, streams, perSecond, seconds }: StreamsOptions): Promise<void> {
  const seller = await startChild('./streams/seller.js');
  const market = await startMarketplace({ mode, env: LIMITS_AS_SHIPPED });
  try {
    const shop = await openShop(market.baseUrl, seller.url, streams, { pricing_amount: 0, formats: ['sse'] });
    const read = async (n: number, forSeconds: number): Promise<{ addedMs: number[]; isWhole: boolean }> => {
      await delay(n * START_EVERY_MS);
      const response = await fetch(`${market.baseUrl}/api/v1/gateway/${shop.listingId}`, {
        method: 'POST',
        headers: {
          authorization: shop.buyers[n]!.authorization,
          'content-type': 'application/json',
          accept: 'text/event-stream',
          'x-forwarded-for': addressOf(n),
        },
        body: JSON.stringify({ per_second: perSecond, seconds: forSeconds }),
      });
      const addedMs: number[] = [];
      let text = '';
      for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
        const at = performance.timeOrigin + performance.now();
        for (const [, sentAt] of piece.matchAll(/"sent_at":([\d.]+)/g)) addedMs.push(at - Number(sentAt));
        text = (text + piece).slice(-2_000);
      }
      return { addedMs, isWhole: text.includes('"outcome":"completed"') };
    };
    process.stderr.write('warming up …\n');
    await Promise.all(shop.buyers.map((_, n) => read(n, 3)));
    process.stderr.write(`${streams} streams of ${perSecond} events a second, for ${seconds} s …\n`);
    const watch = new ProcessWatch(market);
    const all = await Promise.all(shop.buyers.map((_, n) => read(n, seconds)));
    await watch.end();
    const addedMs = all.flatMap((each) => each.addedMs).toSorted((a, b) => a - b);
    const firstMs = all.map((each) => each.addedMs[0]!).toSorted((a, b) => a - b);
    console.log(
      `\n${mode}, ${streams} streams of ${perSecond} events a second for ${seconds} s; seller and readers on the same machine`,
    );
    console.log(
      `events: ${addedMs.length} of ${streams * perSecond * seconds}; whole streams: ${all.filter(({ isWhole }) => isWhole).length}`,
    );
    console.log(`added to an event, ms: p50 ${at(addedMs, 0.5)}, p99 ${at(addedMs, 0.99)}, most ${at(addedMs, 1)}`);
    console.log(`added to the first event of a stream, ms: p50 ${at(firstMs, 0.5)}, p99 ${at(firstMs, 0.99)}`);
    for (const [name, samples] of watch.samples)
      console.log(
        `${name}: ${samples[0]?.residentMiB.toFixed(0)} MiB, at the end ${samples.at(-1)?.residentMiB.toFixed(0)}`,
      );
  } finally {
    await market.stop();
    await seller.stop();
  }
}

const at = (sorted: number[], q: number): string =>
  (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0).toFixed(1);
