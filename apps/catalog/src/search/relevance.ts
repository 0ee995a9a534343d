import type { Concept, Question } from './concepts.js';

/** What a word is worth in docs, in the description or the category, in a tag and in the name. */
const FIELDS = '{0.1, 0.4, 0.7, 1}';
/** What ts_rank says of a word that is once in the name. */
const ONCE_IN_NAME = 0.6079;
/** The part of the question that a listing must have, and at most so much, so that long questions find something. */
const FLOOR = { part: 0.095, most: 2.3 };
/** A question that more listings can match is broad. */
const LOOKED_AT = 1_500;
/** At most so many of each part of what matches a broad question. */
const PART = { rare: 1_000, all: 400, named: 600, rest: 300 };
/** Of a question with more ways to fit it, fewer listings are looked at, because each takes longer. */
const MANY_WAYS = 10;
const LEAST_SHARE = 0.3;
/** At most so many listings that filters leave are read one by one. */
export const FEW_LEFT = 8_000;
/** So many that have all words come before all others, which are not looked for then. */
const ENOUGH_WITH_ALL = 300;
/** With filters, so many are enough to leave out what only has a common word. */
const ENOUGH_LEFT = 100;
/** Names and tags are searched for so many listings of common words, the rarest ones first. */
const NAMED_WORDS = 100_000;
/** What has all words of a long question is looked for by so many of the rarest ones: the others leave out few more. */
const WORDS_TOGETHER = 8;
/** A word of a larger part of all listings is sooner found by reading them than in its index. */
const VERY_COMMON = 0.1;

/** A literal of a number. Those without a type are decimal, which is slow. */
const float = (number: number): string => `${number.toFixed(4)}::float8`;

type Bind = (value: unknown, type: string) => string;

/** How well a listing `l` has a word: ts_rank rises with repetitions, up to the worth of the best field. */
const fitOf = ({ ways }: Concept, bind: Bind): string => {
  const fits = ways.map(({ query, weight, lexemes }) => {
    const asked = bind(query, 'tsquery');
    const times = lexemes?.length ?? 1;
    const found = `ts_rank('${FIELDS}', l.search, ${asked})`;
    const rank = `${float(weight)} * ${times > 1 ? `least(${times} * ${found}, 1)` : found}`;
    // ts_rank does not look at the order of words.
    return lexemes === null ? `CASE WHEN l.search @@ ${asked} THEN ${rank} ELSE 0 END` : rank;
  });
  return fits.length === 1 ? fits[0]! : `greatest(${fits.join(', ')})`;
};

const waysOf = ({ ways }: Concept): string => `(${ways.map(({ query }) => `(${query})`).join(' | ')})`;
const wantedOf = ({ concepts }: Question): Concept[] => concepts.filter(({ isWanted }) => isWanted);

/** The tsquery of all that can match. */
export const matching = (question: Question): string => wantedOf(question).map(waysOf).join(' | ');

/** A part of what can match. */
export interface Part {
  query: string;
  /** Names and tags, all texts, all texts of what the filters leave, or of what is bought most. */
  of: 'names' | 'texts' | 'filtered' | 'bestsellers';
  most: number;
  /** If the parts before it have so many, it is not looked at. */
  enough?: number;
}

/** Whether so many listings can match that only parts of them are looked at. */
export const isBroad = (question: Question): boolean =>
  wantedOf(question).reduce((sum, { listings }) => sum + listings, 0) > LOOKED_AT * shareOf(question);

const shareOf = ({ concepts }: Question): number => {
  const ways = concepts.reduce((sum, { ways: each }) => sum + each.length, 0);
  return Math.max(Math.min(MANY_WAYS / ways, 1), LEAST_SHARE);
};

/**
 * The parts of what matches a broad question to look at: what has the rare words, what has all words in its name or tags
 * or anywhere, what has the rarer ones of the common words in its name or tags, and the rest; each of the last ones only
 * if those before it are few.
 * @param active how many listings there are to find.
 * @param left how many of them the filters leave, up to `FEW_LEFT`; undefined without filters.
 */
export function promising(question: Question, active: number, left: number | undefined): Part[] {
  const share = shareOf(question);
  const part = (query: string, of: Part['of'], most: number, enough?: number): Part => ({
    query,
    of,
    most: Math.round(most * share),
    ...(enough !== undefined && { enough: Math.round(enough * share) }),
  });
  const any = matching(question);
  // What has the phrases has their words.
  if (question.isStrict) return [part(question.must!, 'texts', PART.named)];
  if (left !== undefined && left < FEW_LEFT) return [part(any, 'filtered', LOOKED_AT)];
  const byRarity = wantedOf(question).sort((a, b) => a.listings - b.listings);
  const upTo = (concepts: Concept[], most: number): Concept[] => {
    let sum = 0;
    return concepts.filter(({ listings }) => (sum += listings) <= most);
  };
  const rare = upTo(byRarity, PART.rare * share);
  const [rarest, ...others] = byRarity.slice(rare.length);
  const common = [rarest!, ...upTo(others.slice(0, 2), NAMED_WORDS - rarest!.listings)];
  const parts: Part[] = [];
  if (rare.length > 0) parts.push(part(rare.map(waysOf).join(' | '), 'texts', PART.rare));
  if (byRarity.length > 1) {
    const all = byRarity.slice(0, WORDS_TOGETHER).map(waysOf).join(' & ');
    parts.push(part(all, 'names', PART.all), part(all, 'texts', PART.all, ENOUGH_WITH_ALL));
  }
  const enough = byRarity.length > 1 ? ENOUGH_WITH_ALL : undefined;
  parts.push(part(common.map(waysOf).join(' | '), 'names', left === undefined ? PART.named : PART.rest, enough));
  if (left !== undefined) return [...parts, part(any, 'texts', PART.rest, ENOUGH_LEFT)];
  const of = byRarity[0]!.listings > active * VERY_COMMON ? 'bestsellers' : 'texts';
  return [...parts, part(waysOf(byRarity[0]!), of, PART.rest, PART.rest)];
}

/**
 * The relevance of listings `l`, as expressions over `columns`. `tier` is 1 if a listing has all words, and those come
 * first. `score` rises with each word, and with how rare it is; `had` is the part of `mass` that a listing has.
 */
export function relevance({ concepts, mass, read }: Question, bind: Bind) {
  const all = concepts.map((concept, index) => ({ ...concept, fit: `fit${index}`, worth: float(concept.weight) }));
  const wanted = all.filter(({ isWanted }) => isWanted);
  const sum = all.map(({ fit, worth }) => `${worth} * ${fit}`).join(' + ') || float(0);
  const covered =
    wanted.map(({ fit, worth }) => `CASE WHEN ${fit} > 0 THEN ${worth} ELSE 0 END`).join(' + ') || float(0);
  const hasAll = wanted
    .filter(({ isPart }) => !isPart)
    .map(({ fit }) => `${fit} > 0`)
    .join(' AND ');
  return {
    columns: all.map((concept) => `${fitOf(concept, bind)} AS ${concept.fit}`).join(', ') || 'NULL',
    score: `(${sum}) * (${float(0.4)} + ${float(0.6)} * (${covered}) / ${float(mass)})`,
    tier: read.unmatched.length > 0 ? '0' : `CASE WHEN ${hasAll} THEN 1 ELSE 0 END`,
    had: wanted.map(({ fit, worth }) => `${worth} * least(${fit} / ${ONCE_IN_NAME}, 1)`).join(' + ') || float(0),
    floor: Math.min(FLOOR.part * mass, FLOOR.most).toFixed(4),
  };
}
