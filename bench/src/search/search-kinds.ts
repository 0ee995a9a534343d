import type { RunningMarketplace } from '@market/testing';
import { someDescriptions } from './seeded-catalog.js';
import { addressOf } from '../load.js';

export interface SearchKind {
  name: string;
  /** The query string of the next search. */
  next(): string;
}

const SAMPLE = 5_000;
const COMMON = 300;
const WORDS_ASKED = 4_000;
const CONCURRENCY = 16;
const SORTS = ['newest', 'popular', 'reliable', 'price_low', 'price_high'];
const PRICING = ['free', 'per_call', 'monthly', 'yearly', 'usage_tiered'];
const DELIVERY = ['api', 'webhook', 'streaming', 'batch', 'file'];
const CATEGORIES = ['01', '02', '05', '10', '13'].map((digits) => `01995bad-5c00-7000-8000-0000000000${digits}`);

const oneOf = <T>(items: readonly T[]): T => items[Math.floor(Math.random() * items.length)]!;
const whole = (below: number): number => Math.floor(Math.random() * below);

/**
 * The kinds of searches, with words taken from the listings. Nearly every search has values that were not used before.
 * @param active how many listings there are to find.
 */
export async function searchKinds(
  { baseUrl, databaseUrl }: Pick<RunningMarketplace, 'baseUrl' | 'databaseUrl'>,
  active: number,
): Promise<SearchKind[]> {
  const descriptions = await someDescriptions(databaseUrl, SAMPLE);
  const { common, some, rare } = await wordsOf(descriptions, baseUrl);
  const phrase = (): string => {
    const words = oneOf(descriptions)
      .toLowerCase()
      .match(/[a-z]+ [a-z]+/g) ?? ['data data'];
    return `"${oneOf(words)}"`;
  };
  const misspelt = (): string => {
    const word = oneOf(common.filter((each) => /^.{2}.*(.)(?!\1)./.test(each) && each.length > 5));
    // Two different letters swapped.
    const at = [...word].findIndex((letter, index) => index > 1 && letter !== word[index + 1]);
    return word.slice(0, at) + word[at + 1]! + word[at]! + word.slice(at + 2);
  };
  const price = (): { min_price: string; max_price: string } => {
    const [low, high] = [Math.random() ** 4 * 100, Math.random() ** 2 * 5_000];
    return { min_price: low.toFixed(6), max_price: (low + high).toFixed(6) };
  };
  const filters = () => ({
    category: oneOf(CATEGORIES),
    pricing_model: oneOf(PRICING),
    delivery_type: oneOf(DELIVERY),
  });
  const kinds: Record<string, () => Record<string, string | number>> = {
    ...Object.fromEntries(SORTS.map((sort) => [`no filter, ${sort}`, () => ({ sort, page: 1 + whole(5) })])),
    'category, pricing model and delivery type': () => ({ ...filters(), sort: oneOf(SORTS) }),
    'what works now': () => ({ live: 'true', sort: oneOf(SORTS), page: 1 + whole(5) }),
    'what works now, a common word': () => ({ q: oneOf(common), live: 'true', sort: oneOf(SORTS) }),
    'deep pages of what works now': () => ({ live: 'true', sort: oneOf(SORTS), page: 1 + whole(active / 100) }),
    'a price range': () => ({ ...price(), sort: oneOf(SORTS) }),
    'a common word': () => ({ q: oneOf(common), sort: oneOf(SORTS) }),
    'a word of 100 to 400 listings': () => ({ q: oneOf(some), sort: oneOf(SORTS) }),
    'a word of 1 to 5 listings': () => ({ q: oneOf(rare), sort: oneOf(SORTS) }),
    'two words': () => ({ q: `${oneOf(common)} ${oneOf(common)}`, sort: oneOf(SORTS) }),
    'words with OR and -': () => ({ q: `${oneOf(common)} or ${oneOf(common)} -${oneOf(common)}`, sort: oneOf(SORTS) }),
    'a phrase': () => ({ q: phrase(), sort: oneOf(SORTS) }),
    'a misspelt word': () => ({ q: misspelt(), sort: oneOf(SORTS) }),
    'deep pages, no filter': () => ({ sort: oneOf(SORTS), page: 1 + whole(active / 20) }),
    'pages of 100, however deep': () => ({ sort: oneOf(SORTS), page: 1 + whole(active / 100), limit: 100 }),
    'deep pages of a common word': () => ({
      q: oneOf(common.slice(0, 20)),
      sort: oneOf(SORTS),
      page: 1 + whole(active / 1_000),
    }),
    'a page beyond the end': () => ({ q: oneOf(common), page: 1_000_000_000, limit: 100 }),
    'two words, a filter and prices, never the same': () => ({
      q: `${oneOf(common)} ${oneOf(common)}`,
      pricing_model: oneOf(PRICING.slice(1)),
      ...price(),
      sort: oneOf(SORTS),
    }),
    'ten common words': () => ({ q: Array.from({ length: 10 }, () => oneOf(common)).join(' ') }),
    'the longest q of common words': () => ({ q: longest(common) }),
  };
  return Object.entries(kinds).map(([name, values]) => ({
    name,
    next: () =>
      new URLSearchParams(
        Object.entries(values()).map(([key, value]): [string, string] => [key, String(value)]),
      ).toString(),
  }));
}

/** Words of some texts: the most common ones, and those that about a hundred or only a few listings contain, as the search counts them. */
async function wordsOf(
  texts: string[],
  baseUrl: string,
): Promise<{ common: string[]; some: string[]; rare: string[] }> {
  const counts = new Map<string, number>();
  for (const text of texts)
    for (const word of new Set(text.toLowerCase().match(/[a-z]{3,}/g))) counts.set(word, (counts.get(word) ?? 0) + 1);
  const words = [...counts].sort((a, b) => b[1] - a[1]).map(([word]) => word);
  const asked = Array.from(
    { length: WORDS_ASKED },
    (_, index) => words[COMMON + Math.floor((index / WORDS_ASKED) * (words.length - COMMON))]!,
  );
  const found = new Map<string, number>();
  for (let start = 0; start < asked.length; start += CONCURRENCY)
    await Promise.all(
      asked.slice(start, start + CONCURRENCY).map(async (word) => found.set(word, await totalOf(baseUrl, word))),
    );
  const foundBy = (least: number, most: number): string[] =>
    [...found].filter(([, total]) => total >= least && total <= most).map(([word]) => word);
  return { common: words.slice(0, COMMON), some: foundBy(100, 400), rare: foundBy(1, 5) };
}

async function totalOf(baseUrl: string, q: string): Promise<number> {
  const response = await fetch(`${baseUrl}/api/v1/listings?limit=1&q=${q}`, {
    headers: { 'x-forwarded-for': addressOf(Math.floor(Math.random() * 2 ** 24)) },
  });
  return ((await response.json()) as { pagination: { total: number } }).pagination.total;
}

function longest(words: string[]): string {
  let q = oneOf(words);
  for (let next = oneOf(words); q.length + 1 + next.length <= 1_000; next = oneOf(words)) q += ` ${next}`;
  return q;
}
