import { evmWallet, Marketplace } from '@market/sdk';
import { startMarketplace, type RunningMarketplace } from '@market/testing';
import { readFileSync } from 'node:fs';
import { progress } from '../progress.js';
import { figuresOf, type Figures, type Judged } from './figures.js';

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

/** How well the search finds what was asked for: judged queries over listings as sellers write them. */
export async function measureRelevance(mode: 'standalone' | 'distributed'): Promise<void> {
  const market = await startMarketplace({ mode });
  try {
    const listings = linesOf<Listing>('listings');
    await publish(market, listings);
    const lineOf = new Map(listings.map(({ name }, index) => [name, String(index + 1)]));
    for (const half of HALVES) {
      const judged = [];
      for (const query of linesOf<Query>(half)) judged.push(await ask(market, query, lineOf));
      print(half, judged);
    }
  } finally {
    await market.stop();
  }
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

function print(half: string, judged: Judged[]): void {
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
  console.log(`\nthe ${half} half`.padEnd(15) + ' queries' + COLUMNS.map(([name]) => name.padStart(11)).join(''));
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
