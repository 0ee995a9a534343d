import { BitSets } from './bit-sets.js';
import { lengthened } from './columns.js';
import { Lexicon } from './lexicon.js';
import { PostingLists } from './posting-lists.js';
import type { SlotList } from './slot-lists.js';

/** Tried one after the other: what is much alike is found sooner. The last is what pg_trgm calls similar unless told otherwise. */
const LEAST_SIMILARITIES = [0.5, 0.3];
/** A number resembles other numbers only by accident, and a short word resembles too many. */
const CORRIGIBLE = /\p{L}{3}/u;
const LONGEST = 64;
/** Lists of words are shorter than those of slots. */
const LEAST_DENSE = 1_024;

/**
 * The words that listings have, by the groups of three letters in them and by how many they have, so that misspelt ones find their
 * neighbours: a word that is as similar as asked for has the more trigrams in common the more it has.
 */
export class Vocabulary {
  private readonly words: string[] = [];
  private readonly sizes = new Set<number>();
  /** Trigrams of words of one size. */
  private readonly sizedTrigrams = new Lexicon();
  private readonly sets = new BitSets();
  /** By sized trigram, the words it is in. */
  private readonly lists = new PostingLists(this.sets, LEAST_DENSE);
  /** By word, while similar ones are looked for: how many trigrams are in common. */
  private common = new Uint8Array(1_024);

  /** @param word never added before. */
  add(word: string): void {
    if (!CORRIGIBLE.test(word) || word.length > LONGEST) return;
    const trigrams = trigramsOf(word);
    const number = this.words.push(word) - 1;
    if (number >= this.common.length) this.common = lengthened(this.common, number * 2);
    this.sets.reserve(number + 1);
    this.sizes.add(trigrams.size);
    for (const trigram of trigrams) this.lists.add(this.sizedTrigrams.numberOf(sized(trigram, trigrams.size)), number);
  }

  /**
   * The words most similar to one, all of them where several are equally so; similarity is that of pg_trgm: trigrams in
   * common by trigrams in either.
   * @param isInUse words for which it is false are passed over.
   */
  closestTo(word: string, isInUse: (word: string) => boolean): string[] {
    if (!CORRIGIBLE.test(word) || word.length > LONGEST) return [];
    const trigrams = trigramsOf(word);
    for (const least of LEAST_SIMILARITIES) {
      const similar = [...this.sizes].flatMap((size) => this.similarTo(trigrams, least, size)).sort((a, b) => b.similarity - a.similarity);
      const best = similar.find(({ word: other }) => isInUse(other));
      if (best) return similar.filter(({ word: other, similarity }) => similarity === best.similarity && isInUse(other)).map(({ word: other }) => other);
    }
    return [];
  }

  /**
   * The words of one size that are so similar. One that is in none but the longest lists has too few trigrams in common: so those are only
   * asked about words that may yet have enough.
   */
  private similarTo(trigrams: Set<string>, least: number, size: number): Similar[] {
    const similarity = (common: number): number => common / (trigrams.size + size - common);
    const most = Math.min(trigrams.size, size);
    let enough = 1;
    while (enough <= most && similarity(enough) < least) enough += 1;
    if (enough > most) return [];
    const lists = [...trigrams].map((trigram) => this.sizedTrigrams.find(sized(trigram, size))).filter((known) => known !== undefined);
    lists.sort((a, b) => this.lists.count(a) - this.lists.count(b));
    const shorter = lists.length - enough + 1;
    if (shorter <= 0) return [];
    const met = this.meet(lists.slice(0, shorter));
    let likely: SlotList = Uint32Array.from(met).sort();
    for (let asked = shorter; asked < lists.length && likely.length > 0; asked += 1) {
      for (const number of this.lists.among(likely, lists[asked]!)) this.common[number]! += 1;
      likely = this.keep(likely, enough - (lists.length - asked - 1));
    }
    const similar = Array.from(likely, (number) => ({ word: this.words[number]!, similarity: similarity(this.common[number]!) }));
    for (const number of met) this.common[number] = 0;
    return similar;
  }

  /** The words of some lists; `common` then says in how many of them each is. */
  private meet(lists: number[]): number[] {
    const { common } = this;
    const met: number[] = [];
    for (const list of lists) {
      const numbers = this.lists.slots(list);
      for (let index = 0; index < numbers.length; index += 1) if (common[numbers[index]!]!++ === 0) met.push(numbers[index]!);
    }
    return met;
  }

  /** Those of some words that have so many trigrams in common, in the same memory. */
  private keep(words: SlotList, least: number): SlotList {
    const { common } = this;
    let count = 0;
    for (let index = 0; index < words.length; index += 1) if (common[words[index]!]! >= least) words[count++] = words[index]!;
    return words.subarray(0, count);
  }
}

interface Similar {
  word: string;
  similarity: number;
}

const sized = (trigram: string, size: number): string => `${size} ${trigram}`;

/** As pg_trgm takes them: of each run of letters and digits, with two blanks before and one behind. */
function trigramsOf(word: string): Set<string> {
  const trigrams = new Set<string>();
  for (const run of word.match(/[\p{L}\p{N}]+/gu) ?? []) {
    const letters = ['  ', ...run, ' '].join('');
    const points = [...letters];
    for (let start = 0; start + 3 <= points.length; start += 1) trigrams.add(points.slice(start, start + 3).join(''));
  }
  return trigrams;
}
