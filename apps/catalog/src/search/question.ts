import type { Database } from '@market/persistence';
import { sql, type Statement } from '@market/persistence';
import { LRUCache } from 'lru-cache';
import { readText, type AskedText } from './asked-text.js';
import { DICTIONARIES } from './languages.js';
import { SYNONYMS, type Synonym } from './synonyms.js';
import { misspellingsOf, nearest } from './misspelt.js';
import { splitsOf } from './words.js';

/** One way in which a listing can have what a word of the question means. */
export interface Way {
  /** A tsquery: alternatives joined by |, or a phrase. */
  query: string;
  /** How much of the word it is worth. */
  weight: number;
  /** The alternatives in the query, by whose number ts_rank divides; null of a phrase. */
  lexemes: string[] | null;
}

/** A word of the question, and all ways in which listings can have it. */
export interface Concept {
  word: string;
  ways: Way[];
  /** How rare it is among the listings, times how much it says. */
  weight: number;
  /** About how many listings have it. */
  listings: number;
  /** Whether a listing lacks something without it. A neighbourhood of words only adds to them. */
  isWanted: boolean;
}

/** How the words of a question were read. */
interface ReadWords {
  used: string[];
  corrected: { word: string; as: string[] }[];
  unmatched: string[];
}

export interface Question {
  concepts: Concept[];
  /** What names and tags must have, as a tsquery, where the words say nothing anywhere else. */
  named: string | null;
  /** What listings must have, as a tsquery: the phrases in quotes, and not the excluded words. */
  must: string | null;
  /** Whether there are phrases in quotes. */
  isStrict: boolean;
  /** The sum of the weights, with the words that no listing has. */
  mass: number;
  read: ReadWords;
}

const SYNONYM = 0.5;
const SPLIT = 0.9;
const CORRECTED = 0.8;
const SYNONYM_OF_PHRASE = 0.7;
/** What the words of a known phrase are worth alone. */
const PART = 0.3;
const NEARNESS = 0.5;
const MAX_PAIRS = 8;
const MAX_PARTS = 3;
/** Stems of other languages than English that are shorter are too often those of other words. */
const MIN_STEM = 4;
const FILLER = 0.25;
const MAX_CORRECTED = 8;
/** Words of more listings are not counted: the statistics say how many. */
const COMMON = 500;
/** What more listings have is not counted again for a while. */
const MANY = 100;
const COUNTED = 10_001;
const STATISTICS_TTL_MS = 30_000;
const ABSENT_TTL_MS = 500;

/** Words that say that something is wanted, not what. */
const FILLERS = new Set(
  `need want find get give make made let please help tell show look looking like know something somebody someone thing things
  already ago yet still even ever never always often soon back now many much few several
  way use using used good best better new service services agent agents api tool able would could should must may might us really
  also just one ones here there any some lot say says said see try put take come go going got want wants needs finds gives
  makes me my i you your it its we our they them he she his her who what which where when why how`.split(/\s+/),
);

/** How much a word says, whatever it is rare in. */
const saying = (word: string): number => (FILLERS.has(word) ? FILLER : 1) * (/^(?:[a-z]|\d+)$/.test(word) ? 0.5 : 1);

const LISTED = Object.entries(DICTIONARIES)
  .map(([code, dictionary]) => `('${code}', '${dictionary}')`)
  .join(', ');
const stems = sql(
  'search.stems',
  `SELECT word, coalesce((ts_lexize('english_stem', word))[1], word) AS english,
     array_agg(DISTINCT coalesce(stem[1], word)) AS stems, coalesce(array_agg(code) FILTER (WHERE stem = '{}'), '{}') AS stop_in
   FROM unnest($1::text[]) word, (VALUES ${LISTED}) known (code, dictionary), ts_lexize(dictionary::regdictionary, word) stem
   GROUP BY word`,
);
const known = sql('search.known-words', 'SELECT word FROM listing_words WHERE word = ANY($1)');
const alike = sql(
  'search.similar-words',
  `SELECT asked.word AS asked, found.word FROM unnest($1::text[]) asked (word),
     LATERAL (SELECT word FROM listing_words WHERE word % asked.word ORDER BY similarity(word, asked.word) DESC LIMIT 20) found`,
);
// With a plain LIMIT, PostgreSQL prefers to scan all listings for what it expects to be common.
const counts = sql(
  'search.counts',
  `SELECT query, (
     WITH found AS MATERIALIZED (SELECT FROM listings WHERE status = 'active' AND search @@ query::tsquery)
     SELECT count(*)::int FROM (SELECT FROM found LIMIT $2) counted) AS listings
   FROM unnest($1::text[]) query`,
);
const countsOfSeller = sql(
  'search.counts-of-seller',
  `SELECT query, (SELECT count(*)::int FROM listings WHERE provider_id = $2 AND search @@ query::tsquery) AS listings
   FROM unnest($1::text[]) query`,
);
// What ANALYZE has found: the share of the listings that have a common word.
const common = sql(
  'search.common-words',
  `SELECT lexeme, (share * reltuples)::int AS listings
   FROM pg_class, pg_stats, unnest(most_common_elems::text::text[], most_common_elem_freqs) AS counted (lexeme, share)
   WHERE oid = 'listings'::regclass AND schemaname = current_schema() AND tablename = 'listings' AND attname = 'search'
     AND share * reltuples > $1 AND lexeme IS NOT NULL`,
);

const quoted = (lexeme: string): string => `'${lexeme.replaceAll("'", "''").replaceAll('\\', '\\\\')}'`;
const either = (lexemes: readonly string[]): string => lexemes.map(quoted).join(' | ');

interface Counted {
  query: string;
  listings: number;
}

interface Stems {
  /** The English one first. */
  stems: string[];
  stopIn: string[];
}

/** Reads questions: finds the words of the listings that the words of a text mean. */
export class QuestionReader {
  /** Stems never change. */
  private readonly stemsOf = new LRUCache<string, Stems>({ max: 20_000 });

  /** How many listings had what many have, for a while: how rare a word is changes slowly. */
  private readonly countsKnown = new LRUCache<string, number>({ max: 20_000, ttl: STATISTICS_TTL_MS });
  /** What could stand for a word, and which no listing had a moment ago. */
  private readonly absent = new LRUCache<string, true>({ max: 20_000, ttl: ABSENT_TTL_MS });
  /** The synonyms by the English stem of their first word. */
  private synonyms: Map<string, (Synonym & { stems: string[] })[]> | undefined;
  private commonKnown = new Map<string, number>();
  private freshUntil = 0;

  constructor(private readonly database: Pick<Database, 'query'>) {}

  /** @param sellerId reads it for the listings of one seller in every state. */
  async read(text: string, active: number, sellerId?: string): Promise<Question> {
    const { words: asked, required, excluded } = readText(text);
    const single = asked.map(({ word }) => word);
    const joins = asked.map(({ word, joined }, index) => [
      ...joined,
      ...(index > 0 ? [single[index - 1]! + word] : []),
      ...(index + 1 < asked.length ? [word + single[index + 1]!] : []),
    ]);
    await this.stem(single);
    // What many have is a word, not two without their blank.
    const splits = new Map(single.map((word) => [word, this.isCommon(word) ? [] : splitsOf(word)]));
    const knownWords = await this.known([...joins.flat(), ...[...splits.values()].flat(2)]);
    await this.stem([
      ...asked.flatMap(({ written, parts }) => [written, ...parts]),
      ...required.flat(),
      ...excluded.flat(),
      ...knownWords,
    ]);
    const isStop = this.stopWords(asked);
    const isOfStopWords = asked.every(isStop);
    if (isOfStopWords) return this.readStopWords(asked, { required, excluded });
    const units = await this.unitsOf(single);
    const synonymsOf = (index: number): string[][] =>
      units.filter(({ at, words }) => at === index && words.length === 1).flatMap(({ others }) => others);
    const phrases = units.filter(({ words }) => words.length > 1);
    await this.stem(units.flatMap(({ others }) => others.flat()));

    const indexes = asked.flatMap((each, index) => (isStop(each) || single.indexOf(each.word) < index ? [] : [index]));
    const wanted = indexes.map((index) => {
      const word = single[index]!;
      const ways: Way[] = [this.wayOf([word], 1)];
      // More parts are a name that a longer one may begin with.
      if (asked[index]!.parts.length > 1 && asked[index]!.parts.length <= MAX_PARTS)
        ways.push(this.wayOf(asked[index]!.parts, 1));
      for (const join of joins[index]!) if (knownWords.has(join)) ways.push(this.wayOf([join], 1));
      for (const split of splits.get(word)!)
        if (split.every((part) => knownWords.has(part))) ways.push(this.wayOf(split, SPLIT));
      for (const other of synonymsOf(index)) ways.push(this.wayOf(other, SYNONYM));
      return { word, ways: distinct(ways), index };
    });
    const meant = phrases.map(({ at, words, others }) => ({
      at,
      words,
      ways: distinct([this.wayOf(words, 1), ...others.map((other) => this.wayOf(other, SYNONYM_OF_PHRASE))]),
    }));
    const pairs = indexes.slice(1, MAX_PAIRS + 1).flatMap((second, place) => {
      const first = indexes[place]!;
      return second - first > 3
        ? []
        : [{ first, second, way: this.wayOf([single[first]!, single[second]!], 1, second - first) }];
    });
    const counted = await this.count(
      [...wanted, ...meant].flatMap(({ ways }) => ways),
      sellerId,
    );
    const inUse = (ways: Way[]): Way[] => ways.filter(({ query }) => counted.get(query)! > 0);
    const used = wanted.map((each) => ({ ...each, ways: inUse(each.ways) })).filter(({ ways }) => ways.length > 0);
    const unknown = wanted.filter(({ index }) => !used.some((each) => each.index === index));
    const corrected = await this.correct(
      unknown.map(({ word }) => word),
      counted,
      sellerId,
    );
    const rarity = (listings: number): number =>
      Math.log(1 + (active - Math.min(listings, active) + 0.5) / (listings + 0.5));
    const isInPhrase = (index: number): boolean =>
      phrases.some(({ at, words }) => index >= at && index < at + words.length);
    // What the word itself is found in says how rare it is, or else what stands for it.
    const listingsOf = (ways: Way[]): number => ways.reduce((sum, { query }) => sum + counted.get(query)!, 0);
    const rarityOf = (ways: Way[]): number => {
      const best = Math.max(...ways.map(({ weight }) => weight));
      return rarity(
        ways.filter(({ weight }) => weight === best).reduce((sum, { query }) => sum + counted.get(query)!, 0),
      );
    };
    const words = [...used, ...corrected.map(({ word, ways }) => ({ word, ways, index: single.indexOf(word) }))].map(
      ({ word, ways, index }) => ({
        index,
        word,
        ways,
        weight: rarityOf(ways) * saying(word) * (isInPhrase(index) ? PART : 1),
        listings: listingsOf(ways),
        isWanted: !isInPhrase(index),
      }),
    );
    const together = meant
      .map(({ at, words: said, ways: all }) => {
        const ways = inUse(all);
        const parts = words.filter(({ index }) => index >= at && index < at + said.length);
        const apart = parts.reduce((sum, { weight }) => sum + weight, 0) * ((1 - PART) / PART);
        return {
          at,
          end: at + said.length,
          word: said.join(' '),
          ways,
          weight: apart > 0 || ways.length === 0 ? apart : rarityOf(ways),
        };
      })
      .filter(({ ways }) => ways.length > 0);
    const near = pairs.flatMap(({ first, second, way }) => {
      const ends = words.filter(({ index }) => index === first || index === second);
      return ends.length < 2
        ? []
        : [
            {
              word: '',
              ways: [way],
              weight: (NEARNESS * (ends[0]!.weight + ends[1]!.weight)) / 2,
              listings: 0,
              isWanted: false,
            },
          ];
    });
    const unmatched = unknown
      .filter(({ word }) => !corrected.some((each) => each.word === word))
      .map(({ word }) => word);
    const wantedMass = [...words, ...together].reduce((sum, { weight }) => sum + weight, 0);
    return {
      concepts: [
        ...words,
        ...together.map(({ word, ways, weight }) => ({
          word,
          ways,
          weight,
          listings: listingsOf(ways),
          isWanted: true,
        })),
        ...near,
      ],
      named: null,
      must: this.mustOf({ required, excluded }),
      isStrict: required.length > 0,
      mass: wantedMass + unmatched.reduce((sum, word) => sum + rarity(0) * saying(word), 0),
      read: {
        used: [...used, ...together].map(({ word }) => word),
        corrected: corrected.map(({ word, as }) => ({ word, as })),
        unmatched,
      },
    };
  }

  /** Nothing but words like "the": a listing must have all of them where it says what it is. */
  private readStopWords(asked: AskedText['words'], terms: Pick<AskedText, 'required' | 'excluded'>): Question {
    const words = [...new Set(asked.map(({ word }) => word))];
    const named = words.map((word) => `(${this.wayOf([word], 1).query})`).join(' & ') || null;
    const read = { used: words, corrected: [], unmatched: [] };
    return { concepts: [], named, must: this.mustOf(terms), isStrict: terms.required.length > 0, mass: 0, read };
  }

  private mustOf({ required, excluded }: Pick<AskedText, 'required' | 'excluded'>): string | null {
    const must = [
      ...required.map((words) => `(${this.wayOf(words, 1).query})`),
      ...excluded.map((words) => `!(${this.wayOf(words, 1).query})`),
    ];
    return must.length > 0 ? must.join(' & ') : null;
  }

  /** Finds the words and phrases of a text that others can stand for. */
  private async unitsOf(single: string[]): Promise<(Synonym & { at: number })[]> {
    this.synonyms ??= await this.stemSynonyms();
    const stems = single.map((word) => this.stemsOf.get(word)!.stems[0]!);
    return stems.flatMap((stem, at) =>
      (this.synonyms!.get(stem) ?? [])
        .filter((synonym) => synonym.stems.every((each, offset) => each === stems[at + offset]))
        .map((synonym) => ({ at, ...synonym })),
    );
  }

  private async stemSynonyms(): Promise<NonNullable<QuestionReader['synonyms']>> {
    await this.stem(SYNONYMS.flatMap(({ words }) => words));
    const byStem = new Map<string, (Synonym & { stems: string[] })[]>();
    for (const synonym of SYNONYMS) {
      const stems = synonym.words.map((word) => this.stemsOf.get(word)!.stems[0]!);
      byStem.set(stems[0]!, [...(byStem.get(stems[0]!) ?? []), { ...synonym, stems }]);
    }
    return byStem;
  }

  /** Returns whether a word says nothing in the language of the question, or in English. */
  private stopWords(asked: AskedText['words']): (word: AskedText['words'][number]) => boolean {
    const stopIn = ({ word, written }: AskedText['words'][number]): string[] =>
      [word, written].flatMap((each) => this.stemsOf.get(each)!.stopIn);
    const byLanguage = new Map<string, number>();
    for (const code of asked.flatMap(stopIn)) byLanguage.set(code, (byLanguage.get(code) ?? 0) + 1);
    const [language] = [...byLanguage].sort(
      ([a, left], [b, right]) => right - left || Number(b === 'en') - Number(a === 'en'),
    )[0] ?? ['en'];
    return (each) => {
      const languages = stopIn(each);
      return languages.includes('en') || languages.includes(language) || (languages.length > 0 && each.word.length < 4);
    };
  }

  private wayOf(words: string[], weight: number, distance = 1): Way {
    const said = words.map((word) => this.stemsOf.get(word)!.stems);
    if (said.length === 1) return { query: either(said[0]!), weight, lexemes: said[0]! };
    return { query: said.map((all) => `(${either(all)})`).join(` <${distance}> `), weight, lexemes: null };
  }

  private async known(words: string[]): Promise<Set<string>> {
    if (words.length === 0) return new Set();
    return new Set((await this.database.query<{ word: string }>(known, [[...new Set(words)]])).map(({ word }) => word));
  }

  private async stem(words: string[]): Promise<void> {
    const missing = [...new Set(words)].filter((word) => !this.stemsOf.has(word));
    if (missing.length === 0) return;
    const rows = await this.database.query<{ word: string; english: string; stems: string[]; stop_in: string[] }>(
      stems,
      [missing],
    );
    for (const { word, english, stems: found, stop_in: stopIn } of rows) {
      const others = found.filter((stem) => stem.length >= MIN_STEM || !/^[a-z]+$/.test(stem));
      this.stemsOf.set(word, { stems: [...new Set([english, word, ...others])], stopIn });
    }
  }

  /** Counts the listings for each way; those of common words as the statistics say. */
  private async count(ways: Way[], sellerId: string | undefined): Promise<Map<string, number>> {
    if (sellerId !== undefined)
      return this.counted(
        countsOfSeller,
        ways.map(({ query }) => query),
        sellerId,
      );
    await this.refreshCommon();
    const known = new Map(ways.map((way) => [way.query, this.estimate(way)]));
    const rest = ways.filter(({ query }) => known.get(query) === undefined);
    const found = await this.counted(
      counts,
      rest.map(({ query }) => query),
      COUNTED,
    );
    for (const { query, weight } of rest) {
      const listings = found.get(query)!;
      if (listings >= MANY) this.countsKnown.set(query, listings);
      if (listings === 0 && weight < 1) this.absent.set(query, true);
      known.set(query, listings);
    }
    return known as Map<string, number>;
  }

  /** About how many listings a way finds, if that is known; undefined if it must be counted. */
  private estimate({ query, lexemes, weight }: Way): number | undefined {
    const common = (lexemes ?? []).reduce((sum, lexeme) => sum + (this.commonKnown.get(lexeme) ?? 0), 0);
    return common > 0
      ? common
      : (this.countsKnown.get(query) ?? (weight < 1 && this.absent.has(query) ? 0 : undefined));
  }

  private async counted(statement: Statement, queries: string[], bound: unknown): Promise<Map<string, number>> {
    if (queries.length === 0) return new Map();
    const rows = await this.database.query<Counted>(statement, [[...new Set(queries)], bound]);
    return new Map(rows.map(({ query, listings }) => [query, listings]));
  }

  private async refreshCommon(): Promise<void> {
    if (Date.now() < this.freshUntil) return;
    const rows = await this.database.query<{ lexeme: string; listings: number }>(common, [COMMON]);
    this.commonKnown = new Map(rows.map(({ lexeme, listings }) => [lexeme, listings]));
    this.freshUntil = Date.now() + STATISTICS_TTL_MS;
  }

  private isCommon(word: string): boolean {
    return (this.estimate(this.wayOf([word], 1)) ?? 0) > 0;
  }

  private async correct(
    words: string[],
    counted: Map<string, number>,
    sellerId: string | undefined,
  ): Promise<{ word: string; as: string[]; ways: Way[] }[]> {
    const misspelt = words.filter((word) => /^\p{L}{3,}$/u.test(word)).slice(0, MAX_CORRECTED);
    if (misspelt.length === 0) return [];
    const close = new Map(misspelt.map((word) => [word, misspellingsOf(word)]));
    const [there, similar] = await Promise.all([
      this.known([...close.values()].flat()),
      this.database.query<{ asked: string; word: string }>(alike, [misspelt]),
    ]);
    const candidates = new Map(
      misspelt.map((word) => [
        word,
        [
          ...new Set([
            ...close.get(word)!.filter((each) => there.has(each)),
            ...similar.filter(({ asked }) => asked === word).map((row) => row.word),
          ]),
        ],
      ]),
    );
    await this.stem([...candidates.values()].flat());
    const ways = new Map(
      [...new Set([...candidates.values()].flat())].map((word) => [word, this.wayOf([word], CORRECTED)]),
    );
    for (const [query, listings] of await this.count([...ways.values()], sellerId)) counted.set(query, listings);
    return misspelt.flatMap((word) => {
      const inUse = candidates.get(word)!.filter((each) => counted.get(ways.get(each)!.query)! > 0);
      const as = nearest(word, inUse, (each) => counted.get(ways.get(each)!.query)!);
      return as.length === 0 ? [] : [{ word, as, ways: distinct(as.map((each) => ways.get(each)!)) }];
    });
  }
}

function distinct(ways: Way[]): Way[] {
  const byQuery = new Map<string, Way>();
  for (const way of ways) {
    const other = byQuery.get(way.query);
    if (!other || other.weight < way.weight) byQuery.set(way.query, way);
  }
  return [...byQuery.values()];
}
