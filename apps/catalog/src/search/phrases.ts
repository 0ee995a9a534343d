import { LRUCache } from 'lru-cache';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ListingIndex, PhraseSlots } from './listing-index.js';
import type { SlotList } from './slot-lists.js';
import type { PhraseWord, TextQuery } from './text-query.js';

/** Texts looked at in one turn of the event loop: some two milliseconds. */
const AT_ONCE = 4_000;
const MOST_SLOTS = 4_000_000;
/** What a phrase weighs besides, in slots. */
const WEIGHT = 400;

interface Known {
  /** Ascending. */
  slots: SlotList;
  /** Slots below it were looked at; the text of a slot never changes. */
  upTo: number;
}

const UNKNOWN: Known = { slots: new Uint32Array(0), upTo: 0 };

/**
 * Where phrases occur. A phrase of two words that half of a million listings have takes some 30 ms to find: so it is looked
 * for in small bites, one such phrase at a time, and remembered; later only newer listings are looked at.
 */
export class Phrases {
  private readonly known = new LRUCache<string, Known>({ maxSize: MOST_SLOTS, sizeCalculation: ({ slots }) => slots.length + WEIGHT });
  private queue: Promise<unknown> = Promise.resolve();

  constructor(private readonly index: ListingIndex) {}

  /** Calls `use` when the phrases of a query are known for every slot of the index. */
  async resolve<T>(query: TextQuery | undefined, use: (phrases: PhraseSlots) => T): Promise<T> {
    const phrases = query ? this.index.phrasesToLookFor(query) : [];
    const found = new Map(phrases.map((phrase) => [keyOf(phrase), this.recall(phrase)]));
    for (;;) {
      const behind = phrases.filter((phrase) => found.get(keyOf(phrase))!.upTo < this.index.slots);
      if (behind.length === 0) return use((phrase) => found.get(keyOf(phrase))!.slots);
      for (const phrase of behind) found.set(keyOf(phrase), await this.learn(phrase));
    }
  }

  private recall(phrase: PhraseWord[]): Known {
    return this.known.get(keyOf(phrase)) ?? UNKNOWN;
  }

  private async learn(phrase: PhraseWord[]): Promise<Known> {
    const candidates = this.index.candidates(phrase, this.recall(phrase).upTo);
    if (candidates.length <= AT_ONCE) return this.look(phrase, candidates);
    // Whoever waited for the same phrase finds it known.
    const turn = this.queue.then(() => this.lookInBites(phrase));
    this.queue = turn.catch(() => undefined);
    return turn;
  }

  private look(phrase: PhraseWord[], candidates: SlotList): Known {
    const { slots } = this.recall(phrase);
    return this.keep(phrase, [slots, this.index.withPhrase(phrase, candidates)], this.index.slots);
  }

  private async lookInBites(phrase: PhraseWord[]): Promise<Known> {
    const { slots, upTo } = this.recall(phrase);
    const until = this.index.slots;
    const candidates = this.index.candidates(phrase, upTo);
    const found = [slots];
    for (let start = 0; start < candidates.length; start += AT_ONCE) {
      found.push(this.index.withPhrase(phrase, candidates.subarray(start, start + AT_ONCE)));
      await nextTurn();
    }
    return this.keep(phrase, found, until);
  }

  private keep(phrase: PhraseWord[], parts: SlotList[], upTo: number): Known {
    const known = { slots: joined(parts), upTo };
    this.known.set(keyOf(phrase), known);
    return known;
  }
}

const keyOf = (phrase: PhraseWord[]): string => phrase.map(({ lexeme, place }) => `${place} ${lexeme}`).join(' ');

function joined(parts: SlotList[]): SlotList {
  const whole = new Uint32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let start = 0;
  for (const part of parts) {
    whole.set(part, start);
    start += part.length;
  }
  return whole;
}
