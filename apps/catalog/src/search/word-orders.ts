import { invariant } from '@market/kernel';
import type { OrderedWords } from './ordered-words.js';
import { Rows } from './rows.js';

const PAGE_WORDS = 1 << 18;
/** Of four bytes: the number of a word, and in the upper bits how far it stands from the word before. */
const WORD_BITS = 25;
export const MOST_WORDS = 2 ** WORD_BITS;
const WORD = MOST_WORDS - 1;
/** What stands further apart is in no phrase that a `q` has room for. */
const FARTHEST = 2 ** (32 - WORD_BITS) - 1;

/** The words of each text in their order, which says where a phrase is: a text is read faster than the positions of two words are found. */
export class WordOrders {
  private readonly rows = new Rows((length) => new Uint32Array(length), PAGE_WORDS);

  /** The next text, sorted. */
  add({ words, positions, count }: OrderedWords): void {
    this.rows.add(count, (page, start) => {
      for (let index = 0, last = 0; index < count; index += 1) {
        invariant(words[index]! <= WORD, 'more words than have numbers');
        page[start + index] = (Math.min(positions[index]! - last, FARTHEST) << WORD_BITS) | words[index]!;
        last = positions[index]!;
      }
      return start + count;
    });
  }

  /**
   * Whether words stand in a text, each behind the one before.
   * @param distances of each word from the one before, at least 1; that of the first does not matter.
   */
  has(text: number, words: number[], distances: number[]): boolean {
    const page = this.rows.page(text);
    const end = this.rows.end(text);
    const first = words[0]!;
    for (let at = this.rows.start(text); at < end; at += 1) if ((page[at]! & WORD) === first && areNext(page, at, end, words, distances)) return true;
    return false;
  }
}

function areNext(page: Uint32Array, start: number, end: number, words: number[], distances: number[]): boolean {
  let at = start;
  for (let index = 1; index < words.length; index += 1) {
    let distance = 0;
    do {
      at += 1;
      if (at === end) return false;
      distance += page[at]! >>> WORD_BITS;
      if (distance > distances[index]!) return false;
    } while (distance < distances[index]! || (page[at]! & WORD) !== words[index]);
  }
  return true;
}
