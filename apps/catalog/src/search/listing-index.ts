import type { searchListings } from '@market/contracts/catalog';
import type { InputOf } from '@market/contracts';
import { clearBit, countBits, hasBit, intersect, setBit, slotsOf, subtract, unite, wordsFor, type Bits } from './bits.js';
import { ListingIds } from './listing-ids.js';
import { OrderedSlots } from './ordered-slots.js';
import type { PhraseWord, TextQuery } from './text-query.js';
import { WordIndex } from './word-index.js';

/** What search knows of an active listing. */
export interface IndexedListing {
  id: string;
  createdAtMs: number;
  priceMicros: number;
  completedCalls: number;
  categoryId: string | null;
  pricingModel: string;
  deliveryType: string;
  /** Its text as PostgreSQL stems and prints it. */
  tsvector: string;
}

export interface IndexQuery extends Pick<InputOf<typeof searchListings>, 'categoryId' | 'pricingModel' | 'deliveryType' | 'sort'> {
  text?: TextQuery;
  minPriceMicros?: number;
  maxPriceMicros?: number;
  offset: number;
  limit: number;
}

export interface Found {
  ids: string[];
  total: number;
}

/** Where a phrase of a query is. */
export type PhraseSlots = (phrase: PhraseWord[]) => Uint32Array;

interface PriceRange {
  first: number;
  end: number;
  count: number;
  holds(slot: number): boolean;
}

/** Results up to this size are sorted by themselves; in a larger one the next match is close wherever one stands. */
const SORTED_APART = 512;

/**
 * Every active listing, so that a search is some arithmetic on sets of bits however many listings it finds and however
 * deep its page is: at a million listings well below a millisecond, at most two.
 *
 * A listing has a slot. A changed one gets the next slot and its old one is given up, so that no posting ever changes;
 * `isWasteful` says when to build the index anew.
 */
export class ListingIndex {
  /** How many were ever given. */
  slots = 0;
  private readonly ids = new ListingIds();
  private active: Bits = new Uint32Array(32);
  private createdAtMs = new Float64Array(1_024);
  private priceMicros = new Float64Array(1_024);
  private completedCalls = new Float64Array(1_024);
  private readonly byAge = this.orderedBy((slot) => this.createdAtMs[slot]!);
  private readonly byPrice = this.orderedBy((slot) => this.priceMicros[slot]!);
  private readonly byCalls = this.orderedBy((slot) => this.completedCalls[slot]!);
  private readonly words = new WordIndex();
  /** Allocating them anew for each search would keep the collector busy. */
  private readonly scratch: Bits[] = [];

  get size(): number {
    return this.byAge.length;
  }

  get isWasteful(): boolean {
    return this.slots > this.size * 1.25 + 10_000;
  }

  /** Makes listings what they now are; `gone` are no longer active. Ids that are not here may be gone too. */
  put(listings: IndexedListing[], gone: string[] = []): void {
    const former = Uint32Array.from([...new Set([...listings.map(({ id }) => id), ...gone])].map((id) => this.slotOf(id)).filter((slot) => slot !== undefined));
    this.reorder(former, 'remove');
    for (const slot of former) clearBit(this.active, slot);
    this.reserve(this.slots + listings.length);
    this.reorder(
      Uint32Array.from(listings, (listing) => this.append(listing)),
      'add',
    );
  }

  setCompletedCalls(counts: { id: string; completedCalls: number }[]): void {
    const known = counts.filter(({ id }) => this.slotOf(id) !== undefined);
    const slots = Uint32Array.from(known, ({ id }) => this.slotOf(id)!);
    this.byCalls.remove(slots);
    known.forEach(({ completedCalls }, index) => (this.completedCalls[slots[index]!] = completedCalls));
    this.byCalls.add(slots);
  }

  /** @param phrases knows every phrase of the query up to the last slot. */
  search(query: IndexQuery, phrases: PhraseSlots): Found {
    const matches = this.matchesOf(query, phrases);
    if (!matches) {
      const { order, descending } = this.orderOf(query.sort);
      return { ids: this.idsOf(pageOf(order, { ...query, descending })), total: this.size };
    }
    const total = countBits(matches);
    const slots = this.pageAmong(matches, total, query);
    this.giveBack(matches);
    return { ids: this.idsOf(slots), total };
  }

  /**
   * The query with every word that no listing has replaced by the most similar ones that some have, and every phrase by
   * its words; undefined when there is nothing to replace.
   */
  corrected(query: TextQuery): TextQuery | undefined {
    const found = { replaced: false };
    const corrected = this.correct(query, found);
    return found.replaced ? corrected : undefined;
  }

  /** Slots from `from` on with all the words of a phrase. */
  candidates(phrase: PhraseWord[], from: number): Uint32Array {
    const matches = this.takeActive();
    matches.fill(0, 0, from >>> 5);
    for (const { lexeme } of phrase) this.keepWord(matches, lexeme);
    const slots = slotsOf(matches, countBits(matches));
    this.giveBack(matches);
    return slots.subarray(slots.findIndex((slot) => slot >= from) >>> 0);
  }

  /** Those of some candidates that have the phrase. */
  withPhrase(phrase: PhraseWord[], candidates: Uint32Array): Uint32Array {
    return candidates.length === 0 ? candidates : this.words.withPhrase(phrase, candidates);
  }

  private slotOf(id: string): number | undefined {
    const slot = this.ids.slotOf(id);
    return slot !== undefined && hasBit(this.active, slot) ? slot : undefined;
  }

  private correct(query: TextQuery, found: { replaced: boolean }): TextQuery {
    if (query.kind === 'not') return query;
    if (query.kind === 'phrase') return { kind: 'and', parts: query.words.map(({ lexeme }) => this.correct({ kind: 'word', lexeme }, found)) };
    if (query.kind !== 'word') return { ...query, parts: query.parts.map((part) => this.correct(part, found)) };
    if (this.words.isIn(this.active, query.lexeme)) return query;
    const closest = this.words.closestTo(query.lexeme, this.active);
    if (closest.length === 0) return query;
    found.replaced = true;
    return { kind: 'or', parts: closest.map((lexeme) => ({ kind: 'word', lexeme })) };
  }

  private append(listing: IndexedListing): number {
    const slot = this.ids.add(listing.id);
    this.slots = slot + 1;
    this.createdAtMs[slot] = listing.createdAtMs;
    this.priceMicros[slot] = listing.priceMicros;
    this.completedCalls[slot] = listing.completedCalls;
    setBit(this.active, slot);
    this.words.add(slot, listing.tsvector, [categoryMark(listing.categoryId), pricingMark(listing.pricingModel), deliveryMark(listing.deliveryType)]);
    return slot;
  }

  private reorder(slots: Uint32Array, how: 'add' | 'remove'): void {
    if (slots.length === 0) return;
    for (const order of [this.byAge, this.byPrice, this.byCalls]) order[how](slots);
  }

  /** The matches of a query, to be given back; undefined when all active listings match. */
  private matchesOf(query: IndexQuery, phrases: PhraseSlots): Bits | undefined {
    const marks = [
      query.categoryId !== undefined && categoryMark(query.categoryId),
      query.pricingModel !== undefined && pricingMark(query.pricingModel),
      query.deliveryType !== undefined && deliveryMark(query.deliveryType),
    ].filter((mark) => mark !== false);
    const prices = this.pricesOf(query);
    if (marks.length === 0 && !query.text && prices.count === this.size) return undefined;
    const matches = this.takeActive();
    for (const mark of marks) this.keepWord(matches, mark);
    if (query.text) this.keepText(matches, query.text, phrases);
    if (prices.count < this.size) this.keepPrices(matches, prices);
    return matches;
  }

  /** The part of the order by price that is within the bounds, both inclusive. */
  private pricesOf({ minPriceMicros = 0, maxPriceMicros = Infinity }: IndexQuery): PriceRange {
    const first = this.byPrice.countWhile((slot) => this.priceMicros[slot]! < minPriceMicros);
    const end = this.byPrice.countWhile((slot) => this.priceMicros[slot]! <= maxPriceMicros);
    return { first, end, count: Math.max(end - first, 0), holds: (slot) => this.priceMicros[slot]! >= minPriceMicros && this.priceMicros[slot]! <= maxPriceMicros };
  }

  private keepWord(matches: Bits, word: string): void {
    const scratch = this.take();
    this.words.intersectInto(matches, word, scratch);
    this.giveBack(scratch);
  }

  /** Whichever is least: looking at each match, setting what is in the range, or clearing what is not. */
  private keepPrices(matches: Bits, { first, end, count, holds }: PriceRange): void {
    const matched = countBits(matches);
    if (matched < Math.min(count, this.size - count)) {
      for (const slot of slotsOf(matches, matched)) if (!holds(slot)) clearBit(matches, slot);
    } else if (count * 2 > this.size) {
      for (let position = 0; position < first; position += 1) clearBit(matches, this.byPrice.at(position));
      for (let position = end; position < this.size; position += 1) clearBit(matches, this.byPrice.at(position));
    } else {
      const within = this.take().fill(0);
      for (let position = first; position < end; position += 1) setBit(within, this.byPrice.at(position));
      intersect(matches, within);
      this.giveBack(within);
    }
  }

  private keepText(matches: Bits, query: TextQuery, phrases: PhraseSlots): void {
    if (query.kind === 'word') return this.keepWord(matches, query.lexeme);
    if (query.kind === 'and') return query.parts.forEach((part) => this.keepText(matches, part, phrases));
    const found = this.take().fill(0);
    this.addText(found, query.kind === 'not' ? query.part : query, phrases);
    if (query.kind === 'not') subtract(matches, found);
    else intersect(matches, found);
    this.giveBack(found);
  }

  private addText(found: Bits, query: TextQuery, phrases: PhraseSlots): void {
    if (query.kind === 'word') this.words.uniteInto(found, query.lexeme);
    else if (query.kind === 'phrase') phrases(query.words).forEach((slot) => setBit(found, slot));
    else if (query.kind === 'or') query.parts.forEach((part) => this.addText(found, part, phrases));
    else {
      const matches = this.takeActive();
      this.keepText(matches, query, phrases);
      unite(found, matches);
      this.giveBack(matches);
    }
  }

  private pageAmong(matches: Bits, total: number, { sort, offset, limit }: IndexQuery): ArrayLike<number> {
    const { order, descending } = this.orderOf(sort);
    if (total > SORTED_APART) return pageOf(order, { descending, offset, limit }, { matches, total });
    const sorted = slotsOf(matches, total).sort(order.compare);
    if (descending) sorted.reverse();
    return sorted.subarray(offset, offset + limit);
  }

  private orderOf(sort: IndexQuery['sort']): { order: OrderedSlots; descending: boolean } {
    if (sort === 'price_low') return { order: this.byPrice, descending: false };
    return { order: { newest: this.byAge, popular: this.byCalls, price_high: this.byPrice }[sort], descending: true };
  }

  private idsOf(slots: ArrayLike<number>): string[] {
    return Array.from(slots, (slot) => this.ids.idOf(slot));
  }

  private orderedBy(key: (slot: number) => number): OrderedSlots {
    return new OrderedSlots((a, b) => key(a) - key(b) || this.ids.compare(a, b));
  }

  /** A set that is its taker's own until it is given back, with whatever was in it. */
  private take(): Bits {
    const bits = this.scratch.pop();
    return bits?.length === this.active.length ? bits : new Uint32Array(this.active.length);
  }

  private takeActive(): Bits {
    const bits = this.take();
    bits.set(this.active);
    return bits;
  }

  private giveBack(bits: Bits): void {
    this.scratch.push(bits);
  }

  private reserve(slots: number): void {
    if (slots > this.createdAtMs.length) {
      const capacity = Math.max(slots, Math.ceil(this.createdAtMs.length * 1.25));
      this.createdAtMs = lengthened(this.createdAtMs, capacity);
      this.priceMicros = lengthened(this.priceMicros, capacity);
      this.completedCalls = lengthened(this.completedCalls, capacity);
      const active = new Uint32Array(wordsFor(capacity));
      active.set(this.active);
      this.active = active;
    }
  }
}

// No lexeme holds a blank.
const categoryMark = (id: string | null): string => `category ${id}`;
const pricingMark = (model: string): string => `pricing ${model}`;
const deliveryMark = (type: string): string => `delivery ${type}`;

/** A page of an order, or of its slots that match; counted from whichever end is closer, so that no page is deeper than half. */
function pageOf(order: OrderedSlots, { descending, offset, limit }: { descending: boolean; offset: number; limit: number }, among?: { matches: Bits; total: number }): number[] {
  const total = among?.total ?? order.length;
  const end = Math.min(offset + limit, total);
  if (offset >= end) return [];
  const [first, last] = descending ? [total - end, total - offset] : [offset, end];
  const page: number[] = [];
  if (!among) {
    for (let position = first; position < last; position += 1) page.push(order.at(position));
  } else if (first <= total - last) {
    for (let position = 0, left = first; page.length < last - first; position += 1) {
      if (hasBit(among.matches, order.at(position)) && --left < 0) page.push(order.at(position));
    }
  } else {
    for (let position = order.length - 1, left = total - last; page.length < last - first; position -= 1) {
      if (hasBit(among.matches, order.at(position)) && --left < 0) page.push(order.at(position));
    }
    page.reverse();
  }
  return descending ? page.reverse() : page;
}

function lengthened(column: Float64Array, capacity: number): Float64Array<ArrayBuffer> {
  const longer = new Float64Array(capacity);
  longer.set(column);
  return longer;
}
