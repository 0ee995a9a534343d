import type { Database } from '@market/persistence';
import { sql, type Statement } from '@market/persistence';
import { LRUCache } from 'lru-cache';
import { readText, type AskedText } from './asked-text.js';
import { distinct, either, together, type Corrected, type Question, type Way } from './concepts.js';
import { DICTIONARIES } from './languages.js';
import { SYNONYMS, type Synonym } from './synonyms.js';
import { misspellingsOf, nearest } from './misspelt.js';
import { FILLERS, saying, spellingsOf } from './plain-words.js';
import { splitsOf } from './words.js';

const SYNONYM = 0.5;
const SPLIT = 0.9;
const CORRECTED = 0.8;
const SYNONYM_OF_PHRASE = 0.7;
/** What a synonym in another language is worth of one in the same. */
const FOREIGN = 0.6;
/** What the words of a known phrase are worth alone. */
const PART = 0.4;
const NEARNESS = 0.5;
const MAX_PAIRS = 8;
const MAX_PARTS = 3;
/** Stems of other languages than English that are shorter are too often those of other words. */
const MIN_STEM = 4;
const VOCABULARY = new Set(SYNONYMS.flatMap(({ words }) => words));
/** No known phrase has more words. */
const LONGEST = Math.max(...SYNONYMS.map(({ words }) => words.length));
/** Of a word that all listings have. Numbers in statements have four digits behind the point. */
const LEAST_RARITY = 0.01;
const MAX_CORRECTED = 8;
/** So many rare words say clearly what is meant. */
const CLEAR_WORDS = 2;
/** Words of more listings are not counted: the statistics say how many. */
const COMMON = 500;
/** Words of more listings, and phrases, are not counted again for a while. */
const MANY = 100;
const COUNTED = 10_001;
const STATISTICS_TTL_MS = 30_000;
const ABSENT_TTL_MS = 500;

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
    return this.readWords(readText(text), active, sellerId);
  }

  /** @param slips what was typed for words that were corrected. */
  private async readWords(
    { words: asked, required, excluded }: AskedText,
    active: number,
    sellerId: string | undefined,
    slips?: Map<string, Corrected>,
  ): Promise<Question> {
    const single = asked.map(({ word }) => word);
    const joins = asked.map(({ word, joined }, index) => [
      ...joined,
      ...(index > 0 ? [single[index - 1]! + word] : []),
      ...(index + 1 < asked.length ? [word + single[index + 1]!] : []),
    ]);
    await this.stem(single);
    // What many have is a word, not two without their blank.
    const splits = new Map(single.map((word) => [word, this.isCommon(word) ? [] : splitsOf(word)]));
    const compounds = [...joins.flat(), ...[...splits.values()].flat(2)];
    const inListings = await this.known(compounds);
    const knownWords = new Set(compounds.filter((word) => inListings.has(word) || VOCABULARY.has(word)));
    await this.stem([
      ...asked.flatMap(({ written, parts }) => [written, ...parts]),
      ...required.flat(),
      ...excluded.flat(),
      ...knownWords,
    ]);
    const isStop = this.stopWords(asked);
    const isOfStopWords = asked.every(isStop);
    if (isOfStopWords) return this.readStopWords(asked, { required, excluded });
    const areKnown = (words: string[]): boolean => words.every((word) => knownWords.has(word));
    const units = await this.unitsOf(single, (word) => splits.get(word)!.filter(areKnown));
    const synonymsOf = (index: number): (Synonym & { at: number })[] =>
      units.filter(({ at, words }) => at === index && words.length === 1);
    const waysOf = ({ others, foreign }: Synonym, weight: number): Way[] => [
      ...others.map((other) => this.wayOf(other, weight)),
      ...foreign.map((other) => this.wayOf(other, weight * FOREIGN)),
    ];
    const phrases = units.filter(({ words }) => words.length > 1);
    await this.stem(units.flatMap(({ others, foreign }) => [...others, ...foreign].flat()));

    const indexes = asked.flatMap((each, index) => (isStop(each) || single.indexOf(each.word) < index ? [] : [index]));
    const wanted = indexes.map((index) => {
      const word = single[index]!;
      const slip = slips?.get(word);
      const ways: Way[] = slip ? slip.as.map((each) => this.wayOf([each], CORRECTED)) : [this.wayOf([word], 1)];
      // More parts are a name that a longer one may begin with.
      if (asked[index]!.parts.length > 1 && asked[index]!.parts.length <= MAX_PARTS)
        ways.push(this.wayOf(asked[index]!.parts, 1));
      for (const join of joins[index]!) if (knownWords.has(join)) ways.push(this.wayOf([join], 1));
      for (const split of splits.get(word)!) if (areKnown(split)) ways.push(this.wayOf(split, SPLIT));
      for (const synonym of synonymsOf(index)) ways.push(...waysOf(synonym, slip ? SYNONYM * CORRECTED : SYNONYM));
      return { word, ways: distinct(ways), index };
    });
    const meant = phrases.map((phrase) => ({
      at: phrase.at,
      words: phrase.words,
      ways: distinct([this.wayOf(phrase.words, 1), ...waysOf(phrase, SYNONYM_OF_PHRASE)]),
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
    const inUse = (ways: Way[]): Way[] =>
      together(
        ways.filter(({ query }) => counted.get(query)! > 0),
        counted,
      );
    const used = wanted.map((each) => ({ ...each, ways: inUse(each.ways) })).filter(({ ways }) => ways.length > 0);
    const unmatched = wanted.filter(({ index }) => !used.some((each) => each.index === index)).map(({ word }) => word);
    // What others stand for is a word, even if no listing has it.
    const isKnown = (word: string): boolean =>
      units.some(({ at, words }) => single.slice(at, at + words.length).includes(word));
    const strange = slips ? [] : unmatched.filter((word) => !isKnown(word));
    const corrected = await this.correct(strange, counted, sellerId);
    if (corrected.length > 0) {
      // The words that were meant have synonyms and neighbours of their own.
      const meantFor = new Map(corrected.map((each) => [each.word, each]));
      const words = asked.map((each) => {
        const slip = meantFor.get(each.word);
        return slip ? { word: slip.as[0]!, written: slip.as[0]!, joined: [], parts: [] } : each;
      });
      const typed = new Map(corrected.map((each) => [each.as[0]!, each]));
      return this.readWords({ words, required, excluded }, active, sellerId, typed);
    }
    const rarity = (listings: number): number =>
      Math.max(Math.log(1 + (active - Math.min(listings, active) + 0.5) / (listings + 0.5)), LEAST_RARITY);
    const said = meant.map((each) => ({ ...each, ways: inUse(each.ways) })).filter(({ ways }) => ways.length > 0);
    const isInPhrase = (index: number): boolean =>
      said.some(({ at, words }) => index >= at && index < at + words.length);
    // What the word itself is found in says how rare it is, or else what stands for it.
    const listingsOf = (ways: Way[]): number => ways.reduce((sum, { query }) => sum + counted.get(query)!, 0);
    const rarityOf = (ways: Way[]): number => {
      const best = Math.max(...ways.map(({ weight }) => weight));
      return rarity(
        ways.filter(({ weight }) => weight === best).reduce((sum, { query }) => sum + counted.get(query)!, 0),
      );
    };
    const words = used.map(({ word, ways, index }) => ({
      index,
      word,
      ways,
      weight: rarityOf(ways) * saying(word) * (isInPhrase(index) ? PART : 1),
      listings: listingsOf(ways),
      isWanted: true,
      isPart: isInPhrase(index),
    }));
    const known = said.map(({ at, words: phrase, ways }) => {
      const parts = words.filter(({ index }) => index >= at && index < at + phrase.length);
      const apart = parts.reduce((sum, { weight }) => sum + weight, 0) * ((1 - PART) / PART);
      return { word: phrase.join(' '), ways, weight: apart > 0 ? apart : rarityOf(ways) };
    });
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
    const mass =
      [...words, ...known].reduce((sum, { weight }) => sum + weight, 0) +
      unmatched.reduce((sum, word) => sum + rarity(0) * saying(word), 0);
    return {
      concepts: [
        ...words,
        ...known.map(({ word, ways, weight }) => ({
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
      mass,
      clear: Math.min(mass, CLEAR_WORDS * rarity(0)),
      read: {
        used: [...used, ...known].map(({ word }) => word).filter((word) => !slips?.has(word)),
        corrected: [...(slips?.values() ?? [])],
        unmatched,
      },
    };
  }

  /** Nothing but words like "the": a listing must have all of them where it says what it is. */
  private readStopWords(asked: AskedText['words'], terms: Pick<AskedText, 'required' | 'excluded'>): Question {
    const words = [...new Set(asked.map(({ word }) => word))];
    const named = words.map((word) => `(${this.wayOf([word], 1).query})`).join(' & ') || null;
    const read = { used: words, corrected: [], unmatched: [] };
    return {
      concepts: [],
      named,
      must: this.mustOf(terms),
      isStrict: terms.required.length > 0,
      mass: 0,
      clear: 0,
      read,
    };
  }

  private mustOf({ required, excluded }: Pick<AskedText, 'required' | 'excluded'>): string | null {
    const must = [
      ...required.map((words) => `(${this.wayOf(words, 1).query})`),
      ...excluded.map((words) => `!(${this.wayOf(words, 1).query})`),
    ];
    return must.length > 0 ? must.join(' & ') : null;
  }

  /** Finds the words and phrases of a text that others can stand for; a word may be a phrase without its blank. */
  private async unitsOf(
    single: string[],
    splitsOf: (word: string) => string[][],
  ): Promise<(Synonym & { at: number })[]> {
    this.synonyms ??= await this.stemSynonyms();
    const stemOf = (word: string): string => this.stemsOf.get(word)!.stems[0]!;
    const startOf = (stems: string[]): Synonym[] =>
      (this.synonyms!.get(stems[0]!) ?? []).filter((synonym) => synonym.stems.every((each, at) => each === stems[at]));
    return single.flatMap((word, at) => [
      ...startOf(single.slice(at, at + LONGEST).map(stemOf)).map((synonym) => ({ at, ...synonym })),
      ...splitsOf(word).flatMap((split) =>
        startOf(split.map(stemOf))
          .filter(({ words }) => words.length === split.length)
          .map(({ others, foreign }) => ({ at, words: [word], others, foreign })),
      ),
    ]);
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
    const spellings = missing.flatMap((word) => [word, ...spellingsOf(word)]);
    const rows = await this.database.query<{ word: string; english: string; stems: string[]; stop_in: string[] }>(
      stems,
      [[...new Set(spellings)]],
    );
    const byWord = new Map(rows.map((row) => [row.word, row]));
    for (const word of missing) {
      const { english, stems: found, stop_in: stopIn } = byWord.get(word)!;
      const others = found.filter((stem) => stem.length >= MIN_STEM || !/^[a-z]+$/.test(stem));
      const american = spellingsOf(word).map((spelling) => byWord.get(spelling)!.english);
      this.stemsOf.set(word, { stems: [...new Set([...american, english, word, ...others])], stopIn });
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
    for (const { query, weight, lexemes } of rest) {
      const listings = found.get(query)!;
      // To count a phrase, all listings with its words are read.
      if (listings >= MANY || (lexemes === null && listings > 0)) this.countsKnown.set(query, listings);
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
  ): Promise<Corrected[]> {
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
      const inUse = candidates
        .get(word)!
        .filter((each) => !FILLERS.has(each) && counted.get(ways.get(each)!.query)! > 0);
      const as = nearest(word, inUse, (each) => counted.get(ways.get(each)!.query)!);
      return as.length === 0 ? [] : [{ word, as }];
    });
  }
}
