import type { BitSet, BitSets } from './bit-sets.js';
import { Lexicon } from './lexicon.js';
import { OrderedWords } from './ordered-words.js';
import { PostingLists } from './posting-lists.js';
import type { SlotList } from './slot-lists.js';
import type { PhraseWord } from './text-query.js';
import { readTsvector, type LexemeVisitor } from './tsvector.js';
import { Vocabulary } from './vocabulary.js';
import { WordOrders } from './word-orders.js';
import { WordPairs } from './word-pairs.js';

/** Which words are in which slots, and in which order. */
export class WordIndex implements LexemeVisitor {
  private readonly lexicon = new Lexicon();
  private readonly lists: PostingLists;
  private readonly orders = new WordOrders();
  private readonly pairs: WordPairs;
  private readonly vocabulary = new Vocabulary();
  /** Of the text that is being put in. */
  private readonly order = new OrderedWords();
  private slot = 0;
  private word = 0;

  /** @param sets and `leastDense` as `PostingLists` takes them. */
  constructor(sets: BitSets, leastDense?: number) {
    this.lists = new PostingLists(sets, leastDense);
    this.pairs = new WordPairs(sets);
  }

  /** Puts a text into the next slot. @param marks words of ours, without positions, that no text holds. */
  add(slot: number, tsvector: string, marks: string[]): void {
    for (const mark of marks) this.lists.add(this.lexicon.numberOf(mark), slot);
    this.slot = slot;
    this.order.clear();
    readTsvector(tsvector, this);
    this.order.sort();
    this.pairs.add(slot, this.order);
    this.orders.add(this.order);
  }

  lexeme(text: string, start: number, end: number): void {
    this.word = this.lexicon.numberOf(text, start, end);
    if (this.lists.count(this.word) === 0) this.vocabulary.add(this.lexicon.words[this.word]!);
    this.lists.add(this.word, this.slot);
  }

  position(position: number): void {
    this.order.put(this.word, position);
  }

  /** How many slots of a word are kept as a list; Infinity where they are kept as a set. */
  listed(word: string): number {
    const known = this.lexicon.find(word);
    return known === undefined ? 0 : this.lists.listed(known);
  }

  slots(word: string): SlotList {
    const known = this.lexicon.find(word);
    return known === undefined ? new Uint32Array(0) : this.lists.slots(known);
  }

  /** Those of some slots that have a word. */
  among(slots: SlotList, word: string): SlotList {
    const known = this.lexicon.find(word);
    return known === undefined ? new Uint32Array(0) : this.lists.among(slots, known);
  }

  /** Leaves in a set only the slots of a word. */
  intersectInto(set: BitSet, word: string): void {
    const known = this.lexicon.find(word);
    if (known === undefined) set.words.fill(0);
    else this.lists.intersectInto(set, known);
  }

  /** Takes the slots of a word out of a set. */
  subtractFrom(set: BitSet, word: string): void {
    const known = this.lexicon.find(word);
    if (known !== undefined) this.lists.subtractFrom(set, known);
  }

  /** Adds the slots of a word to a set. */
  uniteInto(set: BitSet, word: string): void {
    const known = this.lexicon.find(word);
    if (known !== undefined) this.lists.uniteInto(set, known);
  }

  /** Sets that every slot with a phrase is in, beside those of its words. */
  likelyFor(phrase: PhraseWord[]): BitSet[] {
    const words = phrase.map(({ lexeme }) => this.lexicon.find(lexeme));
    return words.slice(1).flatMap((follower, index) => {
      const word = words[index];
      const isNext = phrase[index + 1]!.place === phrase[index]!.place + 1;
      return isNext && word !== undefined && follower !== undefined ? this.pairs.with(word, follower) : [];
    });
  }

  /** Those of some slots where the words of a phrase stand as in it. */
  withPhrase(phrase: PhraseWord[], slots: SlotList): SlotList {
    const words = phrase.map(({ lexeme }) => this.lexicon.find(lexeme)!);
    const distances = phrase.map(({ place }, index) => place - (phrase[index - 1]?.place ?? 0));
    return slots.filter((slot) => this.orders.has(slot, words, distances));
  }

  isIn(slots: BitSet, word: string): boolean {
    const known = this.lexicon.find(word);
    return known !== undefined && this.lists.meets(slots, known);
  }

  /** The words most like one that are in one of the slots. */
  closestTo(word: string, slots: BitSet): string[] {
    return this.vocabulary.closestTo(word, (other) => this.isIn(slots, other));
  }
}
