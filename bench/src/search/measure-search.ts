import { startMarketplace, type RunningMarketplace } from '@market/testing';
import { addressOf, fire, Tally, type Measured } from '../load.js';
import { peakOf, shareOfTree } from '../memory.js';
import { progress } from '../progress.js';
import { changeListings, countActive, seedTo } from './seeded-catalog.js';
import { searchKinds, type SearchKind } from './search-kinds.js';
import { LIMITS_AS_SHIPPED } from '../fixtures.js';

export interface SearchOptions {
  connections: number;
  seconds: number;
  sizes: number[];
}

/** A marketplace with a number of listings, and the searches for it. */
interface SeededCatalog {
  size: number;
  market: RunningMarketplace;
  kinds: SearchKind[];
}

interface Cell extends Measured {
  /** Listings in an answer, on average. */
  shown: number;
}

interface Row {
  name: string;
  cells: Cell[];
}

/** How long a new process is warmed up. */
const WARM_UP_SECONDS = 10;
const CHANGES_PER_SECOND = 50;
/** The sizes alternate within each kind, so that a machine that is slow for a while affects all of them. */
const ROUNDS = 4;
const SAMPLE_SIZE = 20;

/** Every kind of search over a small and a large catalog, each in a marketplace of its own. */
export async function measureSearch({ connections, seconds, sizes }: SearchOptions): Promise<void> {
  const catalogs: SeededCatalog[] = [];
  try {
    for (const size of sizes) catalogs.push(await fill(size));
    const load = (catalog: SeededCatalog, kind: number, forSeconds: number, tally?: Tally): Promise<Measured> =>
      fire(
        {
          baseUrl: catalog.market.baseUrl,
          connections,
          seconds: forSeconds,
          expect: 200,
          next: () => ({ method: 'GET', path: pathOf(catalog.kinds[kind]!) }),
        },
        tally,
      );
    const inTurns = async (kind: number): Promise<Cell[]> => {
      const tallies = catalogs.map(() => new Tally());
      for (let turn = 0; turn < ROUNDS; turn += 1)
        for (const [place, catalog] of catalogs.entries()) await load(catalog, kind, seconds / ROUNDS, tallies[place]);
      return Promise.all(
        catalogs.map(async (catalog, place) => ({
          ...tallies[place]!.measured(),
          shown: await shownBy(catalog, kind),
        })),
      );
    };
    const { kinds } = catalogs[0]!;
    process.stderr.write('warming up …\n');
    for (const catalog of catalogs)
      for (const kind of kinds.keys()) await load(catalog, kind, WARM_UP_SECONDS / kinds.length);
    const rows: Row[] = [];
    const measured = progress('measuring kinds of search', kinds.length);
    for (const [kind, { name }] of kinds.entries()) measured(rows.push({ name, cells: await inTurns(kind) }));
    const changing = catalogs.map(({ market }) => changeListings(market.databaseUrl, CHANGES_PER_SECOND));
    const cells = await inTurns(kinds.length - 2).finally(() => Promise.all(changing.map((stop) => stop())));
    rows.push({ name: `the last but one, while ${CHANGES_PER_SECOND} listings a second change`, cells });
    print(rows, { connections, seconds, sizes });
    for (const { size, market } of catalogs)
      console.log(
        `the process with ${size} listings peaked at ${peakOf(market.pid('standalone')!).toFixed(0)} MiB; ` +
          `with its PostgreSQL it holds ${shareOfTree(market.pid('standalone')!).toFixed(0)} MiB`,
      );
  } finally {
    for (const { market } of catalogs) await market.stop();
  }
}

async function fill(size: number): Promise<SeededCatalog> {
  const market = await startMarketplace({ mode: 'standalone', env: LIMITS_AS_SHIPPED });
  try {
    process.stderr.write(`writing ${size} listings …\n`);
    process.stderr.write(`  in ${(await timed(() => seedTo(market.databaseUrl, size))).toFixed(0)} s\n`);
    const restarted = await timed(() => market.restart('standalone'));
    process.stderr.write(`  restarted in ${restarted.toFixed(1)} s, with PostgreSQL\n`);
    return { size, market, kinds: await searchKinds(market, await countActive(market.databaseUrl)) };
  } catch (error) {
    await market.stop();
    throw error;
  }
}

const pathOf = (kind: SearchKind): string => `/api/v1/listings?${kind.next()}`;

async function shownBy({ market, kinds }: SeededCatalog, kind: number): Promise<number> {
  let shown = 0;
  for (let look = 0; look < SAMPLE_SIZE; look += 1) {
    const response = await fetch(`${market.baseUrl}${pathOf(kinds[kind]!)}`, {
      headers: { 'x-forwarded-for': addressOf(Math.floor(Math.random() * 2 ** 24)) },
    });
    shown += ((await response.json()) as { data: unknown[] }).data.length;
  }
  return shown / SAMPLE_SIZE;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (performance.now() - startedAt) / 1_000;
}

function print(rows: Row[], { connections, seconds, sizes }: SearchOptions): void {
  const width = Math.max(...rows.map(({ name }) => name.length));
  console.log(
    `\nGET /listings, standalone, ${connections} connections, ${seconds} s each, load on the same machine; ` +
      'milliseconds, and listings in an answer\n',
  );
  console.log(`${''.padEnd(width)} ${sizes.map((size) => `${size} listings`.padStart(39)).join(' ')}   p95 ratio`);
  console.log(
    `${'kind of search'.padEnd(width)} ${sizes.map(() => '    req/s     p50     p95     p99 shown').join('  ')}`,
  );
  for (const { name, cells } of rows) {
    const columns = cells.map(
      ({ perSecond, p50Ms, p95Ms, p99Ms, shown }) =>
        `${perSecond.toFixed(0).padStart(9)} ` +
        `${[p50Ms, p95Ms, p99Ms].map((ms) => ms.toFixed(1).padStart(7)).join(' ')} ${shown.toFixed(0).padStart(5)}`,
    );
    console.log(
      `${name.padEnd(width)} ${columns.join('  ')}   ${(cells.at(-1)!.p95Ms / cells[0]!.p95Ms).toFixed(2).padStart(9)}`,
    );
    for (const [status, count] of cells.flatMap(({ unexpected }) => Object.entries(unexpected)))
      console.log(`  ${count} answers with status ${status}`);
  }
}
