import { parseArgs } from 'node:util';
import { startMarketplace } from '@market/testing';
import { startChild } from './child.js';
import { measureCost } from './cost/measure-cost.js';
import { measureFaults } from './faults/measure-faults.js';
import { measureFiles } from './files/measure-files.js';
import { fire, type Measured, type Shot } from './load.js';
import { peakOf, shareOfTree } from './memory.js';
import { measureObserved } from './observed/measure-observed.js';
import { measureOverload } from './overload/measure-overload.js';
import { measureRelevance } from './relevance/measure-relevance.js';
import { measureScale } from './scale/measure-scale.js';
import { measureSearch } from './search/measure-search.js';
import { measureSteady } from './steady/measure-steady.js';
import { measureStreams } from './streams/measure-streams.js';
import { measureX402 } from './x402/measure-x402.js';
import {
  buyerAt,
  createFixtures,
  LIMITS_AS_SHIPPED,
  preparePaid,
  quoteShot,
  SEARCH_WORD,
  type Fixtures,
} from './fixtures.js';

const { values: options } = parseArgs({
  options: {
    part: { type: 'string', default: 'requests' },
    mode: { type: 'string', default: 'standalone' },
    connections: { type: 'string' },
    seconds: { type: 'string', default: '8' },
    paid: { type: 'string' },
    rounds: { type: 'string', default: '10' },
    minutes: { type: 'string', default: '15' },
    replicas: { type: 'string', default: '1,2,3' },
    times: { type: 'string', default: '3,10' },
    apart: { type: 'boolean', default: false },
    embeddings: { type: 'boolean', default: false },
    sizes: { type: 'string', default: '100000,1000000' },
    rate: { type: 'string', default: '50' },
    only: { type: 'string', default: '' },
    database: { type: 'string' },
  },
});
const mode = options.mode === 'distributed' ? 'distributed' : 'standalone';
const connections = Number(options.connections ?? (options.part === 'search' ? 8 : 32));
const seconds = Number(options.seconds);
const numbers = (list: string): number[] => list.split(',').map(Number);
const paidCalls = Number(options.paid ?? 12_000);

interface Row {
  name: string;
  limit: Measured;
  ours: Measured;
  target: number;
}

/** Measures each request of the marketplace right after the limit that its parts set, on the same machine and database. */
async function main(): Promise<void> {
  const seller = await startChild('./limits/seller.js');
  const market = await startMarketplace({
    mode,
    env: {
      ALLOW_PRIVATE_ENDPOINTS: 'true',
      REGISTRATION_POW_DIFFICULTY: '2',
      LISTING_POW_DIFFICULTY: '2',
      ...LIMITS_AS_SHIPPED,
      ...(options.database && { DATABASE_URL: options.database }),
    },
  });
  const bare = await startChild('./limits/bare.js', { DATABASE_URL: market.databaseUrl, SELLER_URL: seller.url });
  try {
    const fixtures = await createFixtures(market.baseUrl, market.databaseUrl, seller.url);
    const origin = new URL(market.baseUrl).origin;
    const rows = [
      await paidRetry(fixtures, origin, bare.url),
      await quote(fixtures, origin, bare.url),
      await search(origin, bare.url),
      await me(fixtures, origin, bare.url),
    ];
    print(rows);
    if (mode === 'standalone') {
      const pid = market.pid('standalone')!;
      console.log(
        `\nmemory: standalone process peaked at ${peakOf(pid).toFixed(0)} MiB; with its PostgreSQL it now holds ` +
          `${shareOfTree(pid).toFixed(0)} MiB (proportional share)`,
      );
    }
  } finally {
    await bare.stop();
    await market.stop();
    await seller.stop();
  }
}

const always =
  (shot: Shot): (() => Shot) =>
  () =>
    shot;
const measure = (baseUrl: string, expect: number, next: () => Shot | undefined): Promise<Measured> =>
  fire({ baseUrl, connections, seconds, expect, next });

async function paidRetry(fixtures: Fixtures, origin: string, bareUrl: string): Promise<Row> {
  const limit = await measure(
    bareUrl,
    200,
    always({
      method: 'POST',
      path: '/relay',
      headers: { 'content-type': 'application/json' },
      body: quoteShot(fixtures, 'limit', 0).body,
    }),
  );
  const warmUp = await preparePaid(fixtures, 'warm-up', 1_000);
  await measure(origin, 200, () => warmUp.pop());
  const shots = await preparePaid(fixtures, 'paid', paidCalls);
  return { name: '(a) paid retry', limit, ours: await measure(origin, 200, () => shots.pop()), target: 0.25 };
}

async function quote(fixtures: Fixtures, origin: string, bareUrl: string): Promise<Row> {
  const limit = await measure(
    bareUrl,
    200,
    always({
      method: 'POST',
      path: '/insert',
      headers: { 'content-type': 'application/json' },
      body: quoteShot(fixtures, 'limit', 0).body,
    }),
  );
  let index = 0;
  return {
    name: '(b) 402 quote',
    limit,
    ours: await measure(origin, 402, () => quoteShot(fixtures, 'quote', index++)),
    target: 0.3,
  };
}

async function search(origin: string, bareUrl: string): Promise<Row> {
  const limit = await measure(bareUrl, 200, always({ method: 'GET', path: `/search?q=${SEARCH_WORD}` }));
  return {
    name: '(c) GET /listings?q',
    limit,
    ours: await measure(origin, 200, always({ method: 'GET', path: `/api/v1/listings?q=${SEARCH_WORD}` })),
    target: 0.35,
  };
}

async function me(fixtures: Fixtures, origin: string, bareUrl: string): Promise<Row> {
  const limit = await measure(bareUrl, 200, always({ method: 'GET', path: `/me?id=${buyerAt(fixtures, 0).id}` }));
  let index = 0;
  return {
    name: '(d) GET /me',
    limit,
    ours: await measure(origin, 200, () => ({
      method: 'GET',
      path: '/api/v1/me',
      headers: { authorization: buyerAt(fixtures, index++).authorization },
    })),
    target: 0.35,
  };
}

function print(rows: Row[]): void {
  console.log(`\n${mode}, ${connections} connections, ${seconds} s each, seller and load on the same machine\n`);
  console.log('request               limit req/s  p50 ms  p99 ms    ours req/s  p50 ms  p99 ms    ratio   target');
  for (const { name, limit, ours, target } of rows) {
    const cells = ({ perSecond, p50Ms, p99Ms }: Measured): string =>
      `${perSecond.toFixed(0).padStart(11)} ${p50Ms.toFixed(1).padStart(7)} ${p99Ms.toFixed(1).padStart(7)}`;
    console.log(
      `${name.padEnd(20)} ${cells(limit)}   ${cells(ours)}   ${(ours.perSecond / limit.perSecond).toFixed(2).padStart(6)}   ≥ ${target}`,
    );
    for (const [status, count] of [...Object.entries(limit.unexpected), ...Object.entries(ours.unexpected)])
      console.log(`  ${count} answers with status ${status}`);
  }
}

const parts: Record<string, () => Promise<void>> = {
  requests: main,
  search: () => measureSearch({ connections, seconds, sizes: numbers(options.sizes) }),
  relevance: () => measureRelevance({ mode, embeddings: options.embeddings }),
  cost: () =>
    measureCost({
      mode,
      connections,
      requests: Number(options.paid ?? 3_000),
    }),
  observed: () => measureObserved(connections, Number(options.paid ?? 1_000), Number(options.rounds)),
  x402: () =>
    measureX402({
      connections: numbers(options.connections ?? '8,32'),
      seconds,
      paid: Number(options.paid ?? 4_000),
    }),
  scale: () =>
    measureScale({ replicas: numbers(options.replicas), connections, seconds, paid: Number(options.paid ?? 4_000) }),
  steady: () => measureSteady({ mode, minutes: Number(options.minutes), connections, seconds }),
  streams: () =>
    measureStreams({
      mode,
      streams: Number(options.connections ?? 64),
      perSecond: Number(options.rate),
      seconds: Math.max(seconds, 30),
    }),
  files: () => measureFiles({ mode, files: Number(options.connections ?? 50) }),
  faults: () => measureFaults({ paid: Number(options.paid ?? 6_000), only: options.only }),
  overload: () =>
    measureOverload({
      mode,
      connections,
      seconds,
      paid: Number(options.paid ?? 24_000),
      times: numbers(options.times),
      apart: options.apart,
    }),
};
const part = parts[options.part];
if (!part) throw new Error(`--part is one of ${Object.keys(parts).join(', ')}`);
await part();
