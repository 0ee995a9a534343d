import { evmWallet, Marketplace } from '@market/sdk';
import { eventually, startMarketplace, startPgvectorServer, type RunningMarketplace } from '@market/testing';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import pg from 'pg';
import { MARKET_ADMIN } from '../market-admin.js';
import { progress } from '../progress.js';
import { figuresOf, type Figures, type Judged } from './figures.js';
import { startSentenceEncoder } from './sentence-encoder.js';

interface Listing {
  name: string;
  description: string;
  tags: string[];
  /** The slug of its category. */
  category: string;
}

interface Query {
  kind: string;
  q: string;
  /** The grades of listings by their line in the file: 3 does exactly this, 2 most of it, 1 is related. */
  relevant: Record<string, number>;
}

const HALVES = ['given', 'own'];
const SHOWN = 10;
/** More listings of one seller need more proof of work. */
const LISTINGS_OF_SELLER = 20;

const linesOf = <Line>(name: string): Line[] =>
  readFileSync(new URL(`../../relevance/${name}.jsonl`, import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);

export interface RelevanceOptions {
  mode: 'standalone' | 'distributed';
  /** Whether to measure with a server of embeddings, too: with the catalog as a process of its own, whose PostgreSQL has pgvector. */
  embeddings: boolean;
}

/** How well the search finds what was asked for: judged queries over listings as sellers write them. */
export async function measureRelevance({ mode, embeddings }: RelevanceOptions): Promise<void> {
  const cleanup: (() => Promise<unknown>)[] = [];
  try {
    const market = await startMarketplace({ mode: embeddings ? 'distributed' : mode });
    cleanup.push(() => market.stop());
    const catalogUrl = embeddings ? await useVectors(market, cleanup) : undefined;
    const listings = linesOf<Listing>('listings');
    await publish(market, listings);
    const lineOf = new Map(listings.map(({ name }, index) => [name, String(index + 1)]));
    const judge = async (how: string): Promise<void> => {
      for (const half of HALVES) {
        const judged = [];
        for (const query of linesOf<Query>(half)) judged.push(await ask(market, query, lineOf));
        print(`the ${half} half${how}`, judged);
      }
    };
    await judge('');
    if (catalogUrl === undefined) return;
    await embed(market, catalogUrl, listings.length, cleanup);
    await judge(', with meaning');
  } finally {
    for (const step of cleanup.reverse()) await step();
  }
}

/** Moves the catalog, which is still empty, into a PostgreSQL with pgvector; returns its URL. */
async function useVectors(market: RunningMarketplace, cleanup: (() => Promise<unknown>)[]): Promise<string> {
  const postgres = await startPgvectorServer('catalog');
  cleanup.unshift(() => postgres.stop());
  const { PATH, HOME } = process.env;
  await promisify(execFile)(process.execPath, [MARKET_ADMIN, 'migrate'], {
    env: { PATH, HOME, DATABASE_URL: market.databaseUrl, CATALOG_DATABASE_URL: postgres.url },
  });
  await market.restart('catalog', {
    CATALOG_DATABASE_URL: postgres.url,
    DATABASE_POOLING: 'transaction',
    MIGRATE_ON_START: 'false',
  });
  return postgres.url;
}

/** Starts a server of embeddings, and waits until all listings are embedded. */
async function embed(
  market: RunningMarketplace,
  catalogUrl: string,
  listings: number,
  cleanup: (() => Promise<unknown>)[],
): Promise<void> {
  const server = await startSentenceEncoder();
  cleanup.unshift(() => server.stop());
  await market.restart('catalog', {
    CATALOG_EMBEDDINGS_URL: server.url,
    CATALOG_EMBEDDINGS_MODEL: server.model,
  });
  const embedded = progress('embedding listings', listings);
  const client = new pg.Client({ connectionString: catalogUrl });
  await client.connect();
  await eventually(
    async () => {
      // In a transaction, because all connections share a session.
      await client.query('BEGIN');
      const { rows } = await client.query<{ done: number }>(
        'SELECT count(*)::int AS done FROM catalog.listing_embeddings WHERE model = $1',
        [server.model],
      );
      await client.query('COMMIT');
      embedded(rows[0]!.done);
      if (rows[0]!.done < listings) throw new Error(`${rows[0]!.done} of ${listings} listings were embedded in time`);
    },
    { withinMs: 600_000, everyMs: 500 },
  );
  await client.end();
}

async function publish({ baseUrl }: RunningMarketplace, listings: Listing[]): Promise<void> {
  const categories = await new Marketplace({ baseUrl }).categories();
  const written = progress('publishing listings', listings.length);
  for (let start = 0; start < listings.length; start += LISTINGS_OF_SELLER) {
    const seller = await new Marketplace({ baseUrl }).register(evmWallet(), { displayName: `Seller ${start}` });
    for (const { name, description, tags, category } of listings.slice(start, start + LISTINGS_OF_SELLER))
      await seller.marketplace.listings.create({
        name,
        description,
        tags,
        category_id: categories.find(({ slug }) => slug === category)!.id,
        pricing_model: 'free',
        pricing_amount: 0,
      });
    written(start + LISTINGS_OF_SELLER);
  }
}

async function ask(
  { baseUrl }: RunningMarketplace,
  { kind, q, relevant }: Query,
  lineOf: Map<string, string>,
): Promise<Judged> {
  const response = await fetch(`${baseUrl}/api/v1/listings?${new URLSearchParams({ q, limit: String(SHOWN) })}`);
  if (response.status !== 200) throw new Error(`${q} was answered ${response.status}`);
  const { data, search } = (await response.json()) as { data: { name: string }[]; search: { match: string } };
  return {
    kind,
    grades: data.map(({ name }) => relevant[lineOf.get(name)!] ?? 0),
    relevant: Object.values(relevant),
    isSaidToBeWeak: ['none', 'weak'].includes(search.match),
  };
}

const COLUMNS: [string, keyof Figures][] = [
  ['nDCG@10', 'ndcg'],
  ['recall@10', 'recall'],
  ['success@1', 'success1'],
  ['success@3', 'success3'],
  ['nothing', 'nothing'],
];

function print(title: string, judged: Judged[]): void {
  const answerable = judged.filter(({ relevant }) => relevant.length > 0);
  const unanswerable = judged.filter(({ relevant }) => relevant.length === 0);
  const line = (name: string, of: Judged[]): void => {
    const figures = figuresOf(of);
    console.log(
      name.padEnd(14) +
        String(of.length).padStart(8) +
        COLUMNS.map(([, column]) => figures[column].toFixed(3).padStart(11)).join(''),
    );
  };
  console.log(`\n${title}`);
  console.log('queries'.padStart(22) + COLUMNS.map(([name]) => name.padStart(11)).join(''));
  line('all', answerable);
  for (const kind of new Set(answerable.map((each) => each.kind)))
    line(
      kind,
      answerable.filter((each) => each.kind === kind),
    );
  const empty = unanswerable.filter(({ grades }) => grades.length === 0).length;
  const weak = unanswerable.filter(({ isSaidToBeWeak }) => isSaidToBeWeak).length;
  const wronglyWeak = answerable.filter(({ isSaidToBeWeak }) => isSaidToBeWeak).length;
  console.log(
    `${unanswerable.length} queries that nothing fits: ${empty} get nothing, ${weak} get nothing or match "weak"; ` +
      `so do ${wronglyWeak} of the ${answerable.length} others`,
  );
}
