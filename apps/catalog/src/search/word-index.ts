import type { BitSet, BitSets } from './bit-sets.js';
import { Lexicon } from './lexicon.js';
import { OrderedWords } from './ordered-words.js';
import { PostingLists } from './posting-lists.js';
import type { SlotList } from './slot-lists.js';
import type { PhraseWord } from './text-query.js';
import { readTsvector, type LexemeVisitor } from './tsvector.js';
import { Vocabulary } from './vocabulary.js';
import { MOST_WORDS, WordOrders } from './word-orders.js';
import { WordPairs } from './word-pairs.js';

export interface WordLimits {
  /** As `PostingLists` takes it. */
  leastDense?: number;
  /** As `WordPairs` takes it. */
  mostRare?: number;
}

/** Which words are in which slots, and in which order. */
export class WordIndex implements LexemeVisitor {
  private readonly lexicon = new Lexicon();
  private readonly lists: PostingLists;
  private readonly orders = new WordOrders();
  private readonly pairs: WordPairs;
  private readonly vocabulary = new Vocabulary();
  /** Words of ours for pairs that are frequent, by the numbers of both: to spell each that is met would make a start a tenth longer. */
  private readonly frequentPairs = new Map<number, number>();
  /** Of the text that is being put in. */
  private readonly order = new OrderedWords();
  private slot = 0;
  private word = 0;

  constructor(
    private readonly sets: BitSets,
    { leastDense, mostRare }: WordLimits = {},
  ) {
    this.lists = new PostingLists(sets, leastDense);
    this.pairs = new WordPairs(sets, mostRare);
  }

  /** Puts a text into the next slot. @param marks words of ours, without positions, that no text holds. */
  add(slot: number, tsvector: string, marks: string[]): void {
    for (const mark of marks) this.lists.add(this.lexicon.numberOf(mark), slot);
    this.slot = slot;
    this.order.clear();
    readTsvector(tsvector, this);
    this.order.sort();
    this.orders.add(this.order);
    this.pairs.add(slot, this.order, (word, follower) => this.addPair(word, follower));
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

  /** A word of ours that exactly those texts have that have a phrase; undefined where there is none. */
  wordFor([first, second, ...others]: PhraseWord[]): string | undefined {
    if (!first || !second || others.length > 0 || second.place !== first.place + 1) return undefined;
    const mark = pairMark(first.lexeme, second.lexeme);
    return this.lexicon.find(mark) === undefined ? undefined : mark;
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

  private addPair(word: number, follower: number): void {
    const pair = word * MOST_WORDS + follower;
    const known = this.frequentPairs.get(pair);
    if (known === undefined) return this.listPair(word, follower, pair);
    if (this.lists.last(known) !== this.slot) this.lists.add(known, this.slot);
  }

  private listPair(word: number, follower: number, pair: number): void {
    const list = this.lexicon.numberOf(pairMark(this.lexicon.words[word]!, this.lexicon.words[follower]!));
    this.frequentPairs.set(pair, list);
    const [first, second] = this.pairs.with(word, follower);
    const likely = this.sets.takeCopy(first!);
    this.sets.intersect(likely, second!);
    for (const each of [word, follower]) this.lists.intersectInto(likely, each);
    for (const slot of this.sets.slots(likely, this.sets.count(likely))) if (this.orders.has(slot, [word, follower], [0, 1])) this.lists.add(list, slot);
    this.sets.giveBack(likely);
  }
}

// No lexeme holds a blank.
const pairMark = (word: string, follower: string): string => `pair ${word} ${follower}`;
