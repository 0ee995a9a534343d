import { BitSets } from './bit-sets.js';
import { lengthened } from './columns.js';
import { Lexicon } from './lexicon.js';
import { PostingLists } from './posting-lists.js';

/** Tried one after the other: what is much alike is found sooner. The last is what pg_trgm calls similar unless told otherwise. */
const LEAST_SIMILARITIES = [0.5, 0.3];
/** A number resembles other numbers only by accident, and a short word resembles too many. */
const CORRIGIBLE = /\p{L}{3}/u;
const LONGEST = 64;

/** The words that listings have, by the groups of three letters in them, so that misspelt ones find their neighbours. */
export class Vocabulary {
  private readonly words: string[] = [];
  private sizes = new Uint8Array(1_024);
  private readonly trigrams = new Lexicon();
  private readonly sets = new BitSets();
  /** By trigram, the words it is in. */
  private readonly lists = new PostingLists(this.sets);

  /** @param word never added before. */
  add(word: string): void {
    if (!CORRIGIBLE.test(word) || word.length > LONGEST) return;
    const trigrams = trigramsOf(word);
    const number = this.words.push(word) - 1;
    if (number >= this.sizes.length) this.sizes = lengthened(this.sizes, number * 2);
    this.sizes[number] = trigrams.size;
    this.sets.reserve(number + 1);
    for (const trigram of trigrams) this.lists.add(this.trigrams.numberOf(trigram), number);
  }

  /**
   * The words most similar to one, all of them where several are equally so; similarity is that of pg_trgm: trigrams in
   * common by trigrams in either.
   * @param isInUse words for which it is false are passed over.
   */
  closestTo(word: string, isInUse: (word: string) => boolean): string[] {
    if (!CORRIGIBLE.test(word) || word.length > LONGEST) return [];
    const trigrams = trigramsOf(word);
    const lists = [...trigrams].map((trigram) => this.trigrams.find(trigram)).filter((known) => known !== undefined);
    lists.sort((a, b) => this.lists.count(a) - this.lists.count(b));
    for (const least of LEAST_SIMILARITIES) {
      const similar = this.similarTo(trigrams.size, lists, least).sort((a, b) => b.similarity - a.similarity);
      const best = similar.find(({ word: other }) => isInUse(other));
      if (best) return similar.filter(({ word: other, similarity }) => similarity === best.similarity && isInUse(other)).map(({ word: other }) => other);
    }
    return [];
  }

  /**
   * A word that is so similar has a certain part of the trigrams. Were it in none of the lists but the longest, it would have fewer: so
   * those are only asked about words that may yet have enough.
   * @param lists of the trigrams, the shortest first.
   */
  private similarTo(trigrams: number, lists: number[], least: number): Similar[] {
    const longest = Math.max(lists.length - Math.ceil(trigrams * least) + 1, 0);
    const shared = new Uint8Array(this.words.length);
    const met: number[] = [];
    for (const list of lists.slice(0, longest)) {
      for (const number of this.lists.slots(list)) {
        if (shared[number] === 0) met.push(number);
        shared[number]! += 1;
      }
    }
    const similarity = (common: number, number: number): number => common / (trigrams + this.sizes[number]! - common);
    const likely = Uint32Array.from(met.filter((number) => similarity(shared[number]! + lists.length - longest, number) >= least)).sort();
    for (const list of lists.slice(longest)) for (const number of this.lists.among(likely, list)) shared[number]! += 1;
    return Array.from(likely, (number) => ({ word: this.words[number]!, similarity: similarity(shared[number]!, number) })).filter((found) => found.similarity >= least);
  }
}

interface Similar {
  word: string;
  similarity: number;
}

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
