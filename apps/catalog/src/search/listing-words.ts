import { DICTIONARIES } from './languages.js';
import { wordsOf, type Word } from './words.js';

export interface SearchedTexts {
  name: string;
  tags: readonly string[];
  description: string;
  docs: string | null;
  /** The name of its category. */
  category: string | null;
  /** The language that its seller states; null to detect it. */
  language: string | null;
}

/** The words of a listing, for the SQL function `search_words`. */
export interface ListingWords {
  words: string[];
  /** The position and the weight of each word, as a tsvector has them. */
  places: string[];
  /** The language that the seller states or the script shows; null if neither does. */
  language: string | null;
  /** The words by which the database detects the language that is not stated. */
  spoken: string[];
}

/** How many positions lie between two fields, so that their words do not count as neighbours. */
const GAP = 16;
/** The highest position in a tsvector of PostgreSQL. */
const MAX_POSITION = 16_383;
const MAX_TAG_LENGTH = 5_000;
const MAX_DOCS_LENGTH = 10_000;
const MAX_WORDS_TO_DETECT = 120;

const SCRIPTS: [language: string, script: RegExp][] = [
  ['ja', /[\p{sc=Hiragana}\p{sc=Katakana}]/u],
  ['ko', /\p{sc=Hangul}/u],
  ['zh', /\p{sc=Han}/u],
  ['ru', /\p{sc=Cyrillic}/u],
  ['ar', /\p{sc=Arabic}/u],
  ['hi', /\p{sc=Devanagari}/u],
  ['el', /\p{sc=Greek}/u],
  ['hy', /\p{sc=Armenian}/u],
  ['ta', /\p{sc=Tamil}/u],
  ['th', /\p{sc=Thai}/u],
  ['he', /\p{sc=Hebrew}/u],
];
const LETTER = /\p{L}/u;
const LATIN = /\p{sc=Latin}/u;

/** Returns the language of a text that is mostly not in Latin letters; null if it is in Latin letters. */
function languageOfScript(text: string): string | null {
  const letters = [...text].filter((character) => LETTER.test(character));
  const foreign = letters.filter((letter) => !LATIN.test(letter));
  if (foreign.length <= letters.length / 3) return null;
  const written = foreign.join('');
  return SCRIPTS.find(([, script]) => script.test(written))?.[0] ?? null;
}

export function listingWords({ name, tags, description, docs, category, language }: SearchedTexts): ListingWords {
  const words: string[] = [];
  const places: string[] = [];
  let start = 0;
  const add = (found: Word[], weight: string): void => {
    for (const { word, at } of found) {
      words.push(word);
      places.push(`${Math.min(start + at, MAX_POSITION)}${weight}`);
    }
    start += (found.at(-1)?.at ?? 0) + GAP;
  };
  add(wordsOf(name), 'A');
  for (const tag of tags) add(wordsOf(tag.slice(0, MAX_TAG_LENGTH)), 'B');
  if (category !== null) add(wordsOf(category), 'C');
  add(wordsOf(description), 'C');
  add(wordsOf((docs ?? '').slice(0, MAX_DOCS_LENGTH)), 'D');
  return {
    words,
    places,
    language: language ?? languageOfScript(`${name} ${description}`),
    spoken: (`${name} ${description}`.toLowerCase().match(/\p{L}+/gu) ?? []).slice(0, MAX_WORDS_TO_DETECT),
  };
}

const LATIN_LANGUAGES = Object.keys(DICTIONARIES).filter(
  (code) => !['ar', 'el', 'hi', 'hy', 'ne', 'ru', 'ta'].includes(code),
);

const listOf = (codes: string[]): string => codes.map((code) => `('${code}', '${DICTIONARIES[code]}')`).join(', ');

/**
 * The functions that store what a listing is found by. `language_of` counts the words that a language's dictionary
 * leaves out as too common ("the", "der"); one such word says nothing in a text without any accent. `search_words`
 * stems words by the dictionary of a language, if it has one.
 */
export const SEARCH_FUNCTIONS = [
  `CREATE FUNCTION language_of(words text[]) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
   RETURN coalesce((
     SELECT code FROM (VALUES ${listOf(LATIN_LANGUAGES)}) known (code, dictionary), unnest(words) word
     WHERE ts_lexize(dictionary::regdictionary, word) = '{}'
     GROUP BY code HAVING count(*) > 1 OR code = 'en' OR array_to_string(words, '') ~ '[^a-z]'
     ORDER BY count(*) DESC, code <> 'en', code LIMIT 1), 'en')`,
  `CREATE FUNCTION search_words(language text, words text[], places text[]) RETURNS tsvector
   LANGUAGE sql STABLE PARALLEL SAFE
   RETURN (
     WITH known AS MATERIALIZED (
       SELECT dictionary::regdictionary FROM (VALUES ${listOf(Object.keys(DICTIONARIES))}) known (code, dictionary)
       WHERE code = language),
     stemmed AS (
       SELECT coalesce((ts_lexize((SELECT dictionary FROM known), word))[1], word) AS stem, place
       FROM unnest(words, places) AS placed (word, place))
     SELECT coalesce(string_agg(quote_literal(stem) || ':' || place, ' '), '')::tsvector FROM stemmed)`,
];
