import { BitSets } from './bit-sets.js';
import { Lexicon } from './lexicon.js';
import { PostingLists } from './posting-lists.js';

/** What pg_trgm calls similar unless told otherwise. */
const LEAST_SIMILARITY = 0.3;
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
    if (number >= this.sizes.length) this.sizes = doubled(this.sizes);
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
    const shared = new Uint8Array(this.words.length);
    const candidates: number[] = [];
    for (const trigram of trigrams) {
      const known = this.trigrams.find(trigram);
      if (known === undefined) continue;
      for (const number of this.lists.slots(known)) {
        if (shared[number] === 0) candidates.push(number);
        shared[number]! += 1;
      }
    }
    const similarity = (number: number): number => shared[number]! / (trigrams.size + this.sizes[number]! - shared[number]!);
    const similar = candidates.filter((number) => similarity(number) >= LEAST_SIMILARITY).sort((a, b) => similarity(b) - similarity(a));
    const best = similar.find((number) => isInUse(this.words[number]!));
    if (best === undefined) return [];
    return similar.filter((number) => similarity(number) === similarity(best) && isInUse(this.words[number]!)).map((number) => this.words[number]!);
  }
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

function doubled(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(bytes.length * 2);
  larger.set(bytes);
  return larger;
}
