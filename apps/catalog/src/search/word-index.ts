import { hasBit, setBit, type Bits } from './bits.js';
import { Lexicon } from './lexicon.js';
import { NumberLists } from './number-lists.js';
import { PostingLists } from './posting-lists.js';
import type { PhraseWord } from './text-query.js';
import { readTsvector, type LexemeVisitor } from './tsvector.js';
import { Vocabulary } from './vocabulary.js';

/** No position of a tsvector is higher. */
const POSITIONS = 2 ** 14;

/** Which words are in which slots, and at which positions. */
export class WordIndex implements LexemeVisitor {
  private readonly lexicon = new Lexicon();
  private readonly lists = new PostingLists();
  /** For each posting of a word its positions: the differences between them, doubled, and odd for the last. */
  private readonly positions = new NumberLists();
  private readonly vocabulary = new Vocabulary();
  private slot = 0;
  private word = 0;
  private lastPosition = 0;

  get bytes(): number {
    return this.lists.bytes + this.positions.bytes;
  }

  /** Puts a text into the next slot. @param marks words of ours, without positions, that no text holds. */
  add(slot: number, tsvector: string, marks: string[]): void {
    for (const mark of marks) this.lists.add(this.lexicon.numberOf(mark), slot);
    this.slot = slot;
    readTsvector(tsvector, this);
  }

  lexeme(text: string, start: number, end: number): void {
    this.word = this.lexicon.numberOf(text, start, end);
    this.lastPosition = 0;
    if (this.lists.count(this.word) === 0) this.vocabulary.add(this.lexicon.words[this.word]!);
    this.lists.add(this.word, this.slot);
  }

  position(position: number, isLast: boolean): void {
    this.positions.append(this.word, ((position - this.lastPosition) << 1) | Number(isLast));
    this.lastPosition = position;
  }

  /** Leaves in a set only the slots of a word. @param scratch as long as `bits`; overwritten. */
  intersectInto(bits: Bits, word: string, scratch: Bits): void {
    const known = this.lexicon.find(word);
    if (known === undefined) bits.fill(0);
    else this.lists.intersectInto(bits, known, scratch);
  }

  /** Adds the slots of a word to a set. */
  uniteInto(bits: Bits, word: string): void {
    const known = this.lexicon.find(word);
    if (known !== undefined) this.lists.uniteInto(bits, known);
  }

  /** Adds to a set the slots where words stand as in a phrase. @param within slots that have all the words; overwritten. */
  unitePhraseInto(bits: Bits, phrase: PhraseWord[], within: Bits): void {
    const numbers = phrase.map(({ lexeme, place }) => ({ word: this.lexicon.find(lexeme), place }));
    const words = numbers.filter((each): each is { word: number; place: number } => each.word !== undefined);
    if (words.length < phrase.length) return;
    // The rarest first: there is the less to compare the others with.
    const [first, ...others] = words.sort((a, b) => this.lists.count(a.word) - this.lists.count(b.word));
    let starts = this.startsOf(first!, within);
    for (const other of others) {
      within.fill(0);
      for (const start of starts) setBit(within, Math.floor(start / POSITIONS));
      starts = inBoth(starts, this.startsOf(other, within));
    }
    for (const start of starts) setBit(bits, Math.floor(start / POSITIONS));
  }

  isIn(slots: Bits, word: string): boolean {
    const known = this.lexicon.find(word);
    return known !== undefined && this.lists.meets(slots, known);
  }

  /** The words most like one that are in one of the slots. */
  closestTo(word: string, slots: Bits): string[] {
    return this.vocabulary.closestTo(word, (other) => this.isIn(slots, other));
  }

  /** Where phrases would start, had they the word at this place: slots and positions in one number, ascending. */
  private startsOf({ word, place }: { word: number; place: number }, within: Bits): number[] {
    const starts: number[] = [];
    const positions = this.positions.read(word);
    this.lists.forEach(word, (slot) => {
      const isWithin = hasBit(within, slot);
      for (let position = 0, isLast = 0; isLast === 0; ) {
        const number = positions.next();
        position += number >>> 1;
        isLast = number & 1;
        if (isWithin && position >= place) starts.push(slot * POSITIONS + position - place);
      }
    });
    return starts;
  }
}

/** Of two ascending lists. */
function inBoth(left: number[], right: number[]): number[] {
  const both: number[] = [];
  for (let a = 0, b = 0; a < left.length && b < right.length; ) {
    if (left[a] === right[b]) {
      both.push(left[a]!);
      a += 1;
      b += 1;
    } else if (left[a]! < right[b]!) a += 1;
    else b += 1;
  }
  return both;
}
