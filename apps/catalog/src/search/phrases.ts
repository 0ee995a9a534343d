import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ListingIndex, PhraseSlots } from './listing-index.js';
import { phrasesIn, type PhraseWord, type TextQuery } from './text-query.js';

/** Texts looked at in one turn of the event loop: some two milliseconds. */
const AT_ONCE = 16_000;
const MOST_SLOTS = 4_000_000;
const MOST_PHRASES = 10_000;

interface Known {
  /** Ascending. */
  slots: Uint32Array;
  /** Slots below it were looked at; the text of a slot never changes. */
  upTo: number;
}

const UNKNOWN: Known = { slots: new Uint32Array(0), upTo: 0 };

/**
 * Where phrases occur. A phrase of two words that half of a million listings have takes some 30 ms to find: so it is looked
 * for in small bites, one such phrase at a time, and remembered; later only newer listings are looked at.
 */
export class Phrases {
  private readonly known = new Map<string, Known>();
  private slots = 0;
  private queue: Promise<void> = Promise.resolve();

  constructor(private readonly index: ListingIndex) {}

  /** Calls `use` when the phrases of a query are known for every slot of the index. */
  async resolve<T>(query: TextQuery | undefined, use: (phrases: PhraseSlots) => T): Promise<T> {
    const phrases = query ? phrasesIn(query) : [];
    for (;;) {
      const behind = phrases.filter((phrase) => (this.known.get(keyOf(phrase))?.upTo ?? 0) < this.index.slots);
      if (behind.length === 0) return use((phrase) => this.recall(keyOf(phrase)));
      for (const phrase of behind) await this.learn(phrase);
    }
  }

  private recall(key: string): Uint32Array {
    const known = this.known.get(key) ?? UNKNOWN;
    if (this.known.delete(key)) this.known.set(key, known);
    return known.slots;
  }

  private async learn(phrase: PhraseWord[]): Promise<void> {
    const candidates = this.index.candidates(phrase, this.known.get(keyOf(phrase))?.upTo ?? 0);
    if (candidates.length <= AT_ONCE) return this.look(phrase);
    // Whoever waited for the same phrase finds it known.
    const turn = this.queue.then(() => this.lookInBites(phrase));
    this.queue = turn.catch(() => undefined);
    return turn;
  }

  private look(phrase: PhraseWord[]): void {
    const key = keyOf(phrase);
    const { slots, upTo } = this.known.get(key) ?? UNKNOWN;
    const found = this.index.withPhrase(phrase, this.index.candidates(phrase, upTo));
    this.keep(key, { slots: joined([slots, found]), upTo: this.index.slots });
  }

  private async lookInBites(phrase: PhraseWord[]): Promise<void> {
    const key = keyOf(phrase);
    const { slots, upTo } = this.known.get(key) ?? UNKNOWN;
    const until = this.index.slots;
    const candidates = this.index.candidates(phrase, upTo);
    const found = [slots];
    for (let start = 0; start < candidates.length; start += AT_ONCE) {
      found.push(this.index.withPhrase(phrase, candidates.subarray(start, start + AT_ONCE)));
      await nextTurn();
    }
    this.keep(key, { slots: joined(found), upTo: until });
  }

  private keep(key: string, known: Known): void {
    this.forget(key);
    this.known.set(key, known);
    this.slots += known.slots.length;
    for (const oldest of this.known.keys()) {
      if (oldest === key || (this.slots <= MOST_SLOTS && this.known.size <= MOST_PHRASES)) break;
      this.forget(oldest);
    }
  }

  private forget(key: string): void {
    this.slots -= this.known.get(key)?.slots.length ?? 0;
    this.known.delete(key);
  }
}

const keyOf = (phrase: PhraseWord[]): string => phrase.map(({ lexeme, place }) => `${place} ${lexeme}`).join(' ');

function joined(parts: Uint32Array[]): Uint32Array {
  const whole = new Uint32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let start = 0;
  for (const part of parts) {
    whole.set(part, start);
    start += part.length;
  }
  return whole;
}
