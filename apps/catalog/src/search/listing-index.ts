import type { searchListings } from '@market/contracts/catalog';
import type { InputOf } from '@market/contracts';
import { invariant } from '@market/kernel';
import { BitSets, type BitSet } from './bit-sets.js';
import { lengthened } from './columns.js';
import { ListingIds } from './listing-ids.js';
import { OrderedSlots } from './ordered-slots.js';
import { inBoth, inEither, without, type SlotList } from './slot-lists.js';
import { phrasesIn, type PhraseWord, type TextQuery } from './text-query.js';
import { Texts } from './texts.js';
import { WordIndex, type WordLimits } from './word-index.js';

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
  /** What a search answers with: the text of a `listingView`. */
  shown: string;
}

export interface IndexQuery extends Pick<InputOf<typeof searchListings>, 'categoryId' | 'pricingModel' | 'deliveryType' | 'sort'> {
  text?: TextQuery;
  minPriceMicros?: number;
  maxPriceMicros?: number;
  offset: number;
  limit: number;
}

interface Picked {
  slots: ArrayLike<number>;
  total: number;
}

export interface Found {
  /** An array of what is shown of each listing, in order. */
  itemsJson: string;
  total: number;
}

/** Where a phrase of a query is. */
export type PhraseSlots = (phrase: PhraseWord[]) => SlotList;

interface PriceRange {
  first: number;
  end: number;
  count: number;
  isAll: boolean;
  holds(slot: number): boolean;
}

/** What at most one listing in so many may have is looked at one by one; what more may have, as bits of all. */
const FEW_ARE_ONE_IN = 32;
const ALWAYS_FEW = 1_000;
/** Results up to this size are sorted by themselves, however deep the page. */
const SORTED_APART = 512;
/** The best of a result are picked out of it up to so many. */
const MOST_PICKED = 200;
/** What comparing two listings costs, in steps along an order. */
const COMPARED_FOR_A_STEP = 12;
/** How many words of a set are looked through for slots while one step along an order is made. */
const WORDS_LISTED_FOR_A_STEP = 4;

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
  /** Another after every change. */
  version = 0;
  private readonly ids = new ListingIds();
  private readonly shown = new Texts();
  private readonly sets = new BitSets();
  private readonly active = this.sets.takeEmpty();
  private createdAtMs = new Float64Array(1_024);
  private priceMicros = new Float64Array(1_024);
  private completedCalls = new Float64Array(1_024);
  private readonly byAge = this.orderedBy(() => this.createdAtMs);
  private readonly byPrice = this.orderedBy(() => this.priceMicros);
  private readonly byCalls = this.orderedBy(() => this.completedCalls);
  private readonly words: WordIndex;

  constructor(limits?: WordLimits) {
    this.words = new WordIndex(this.sets, limits);
  }

  get size(): number {
    return this.byAge.length;
  }

  get isWasteful(): boolean {
    return this.slots > this.size * 1.25 + 10_000;
  }

  /** Makes listings what they now are; `gone` are no longer active. Ids that are not here may be gone too. */
  put(listings: IndexedListing[], gone: string[] = []): void {
    this.version += 1;
    const former = Uint32Array.from([...new Set([...listings.map(({ id }) => id), ...gone])].map((id) => this.slotOf(id)).filter((slot) => slot !== undefined));
    for (const slot of former) this.active.remove(slot);
    this.reserve(this.slots + listings.length);
    const added = Uint32Array.from(listings, (listing) => this.append(listing));
    for (const order of [this.byAge, this.byPrice, this.byCalls]) order.change(former, added);
  }

  setCompletedCalls(counts: { id: string; completedCalls: number }[]): void {
    this.version += 1;
    const known = counts.filter(({ id }) => this.slotOf(id) !== undefined);
    const slots = Uint32Array.from(known, ({ id }) => this.slotOf(id)!);
    this.byCalls.change(slots, NO_SLOTS);
    known.forEach(({ completedCalls }, index) => (this.completedCalls[slots[index]!] = completedCalls));
    this.byCalls.change(NO_SLOTS, slots);
  }

  /** @param phrases knows every phrase of the query that must be looked for up to the last slot. */
  search(query: IndexQuery, phrases: PhraseSlots): Found {
    const { slots, total } = this.pick({ ...query, text: query.text && this.inWords(query.text) }, phrases);
    return { itemsJson: this.shown.arrayOf(slots), total };
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

  /** Phrases of a query that no list of slots is kept of. */
  phrasesToLookFor(query: TextQuery): PhraseWord[][] {
    return phrasesIn(this.inWords(query));
  }

  /** Slots from `from` on with all the words of a phrase, without most of those where they stand apart. */
  candidates(phrase: PhraseWord[], from: number): SlotList {
    const pairs = phrase.slice(1).map((word, index) => this.words.wordFor([phrase[index]!, word]));
    const lexemes = [...phrase.map(({ lexeme }) => lexeme), ...pairs.filter((pair) => pair !== undefined)];
    const wanted: TextQuery = { kind: 'and', parts: lexemes.map((lexeme) => ({ kind: 'word', lexeme })) };
    const likely = this.words.likelyFor(phrase);
    const few = this.fewOf(wanted, NO_PHRASES);
    const slots = few ? likely.reduce((left, set) => set.among(left), few) : this.slotsOf(wanted, likely);
    return slots.subarray(slots.findIndex((slot) => slot >= from) >>> 0);
  }

  /** Those of some candidates that have the phrase. */
  withPhrase(phrase: PhraseWord[], candidates: Uint32Array): Uint32Array {
    return candidates.length === 0 ? candidates : this.words.withPhrase(phrase, candidates);
  }

  private slotOf(id: string): number | undefined {
    const slot = this.ids.slotOf(id);
    return slot !== undefined && this.active.has(slot) ? slot : undefined;
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

  /** A query with words of ours for the phrases that have one. */
  private inWords(query: TextQuery): TextQuery {
    if (query.kind === 'word') return query;
    if (query.kind === 'not') return { kind: 'not', part: this.inWords(query.part) };
    if (query.kind !== 'phrase') return { ...query, parts: query.parts.map((part) => this.inWords(part)) };
    const lexeme = this.words.wordFor(query.words);
    return lexeme === undefined ? query : { kind: 'word', lexeme };
  }

  private append(listing: IndexedListing): number {
    const slot = this.ids.add(listing.id);
    this.slots = slot + 1;
    this.createdAtMs[slot] = listing.createdAtMs;
    this.priceMicros[slot] = listing.priceMicros;
    this.completedCalls[slot] = listing.completedCalls;
    this.active.add(slot);
    this.shown.add(listing.shown);
    this.words.add(slot, listing.tsvector, [categoryMark(listing.categoryId), pricingMark(listing.pricingModel), deliveryMark(listing.deliveryType)]);
    return slot;
  }

  /** The listings a query wants, one by one; undefined where that may be too many. */
  private fewOf(wanted: TextQuery, phrases: PhraseSlots): SlotList | undefined {
    if (this.mostOf(wanted, phrases) > Math.max(ALWAYS_FEW, this.slots / FEW_ARE_ONE_IN)) return undefined;
    return this.active.among(this.listOf(wanted, phrases));
  }

  /** How many slots `listOf` begins with. */
  private mostOf(query: TextQuery, phrases: PhraseSlots): number {
    if (query.kind === 'word') return this.words.listed(query.lexeme);
    if (query.kind === 'phrase') return phrases(query.words).length;
    if (query.kind === 'not') return Infinity;
    const most = query.parts.map((part) => this.mostOf(part, phrases));
    return query.kind === 'and' ? Math.min(...most) : most.reduce((sum, each) => sum + each, 0);
  }

  /** Slots that a query wants, from the part that fewest have. */
  private listOf(query: TextQuery, phrases: PhraseSlots): SlotList {
    if (query.kind === 'word') return this.words.slots(query.lexeme);
    if (query.kind === 'phrase') return phrases(query.words);
    invariant(query.kind !== 'not', 'what a text is without is not listed');
    if (query.kind === 'or') return query.parts.map((part) => this.listOf(part, phrases)).reduce(inEither);
    const most = query.parts.map((part) => this.mostOf(part, phrases));
    const fewest = query.parts[most.indexOf(Math.min(...most))]!;
    return query.parts.reduce((slots, part) => (part === fewest ? slots : this.among(slots, part, phrases)), this.listOf(fewest, phrases));
  }

  /** Those of some slots that a query wants. */
  private among(slots: SlotList, query: TextQuery, phrases: PhraseSlots): SlotList {
    if (query.kind === 'word') return this.words.among(slots, query.lexeme);
    if (query.kind === 'phrase') return inBoth(slots, phrases(query.words));
    if (query.kind === 'not') return without(slots, this.among(slots, query.part, phrases));
    if (query.kind === 'or') return query.parts.map((part) => this.among(slots, part, phrases)).reduce(inEither);
    return query.parts.reduce((left, part) => this.among(left, part, phrases), slots);
  }

  private pick(query: IndexQuery, phrases: PhraseSlots): Picked {
    const prices = this.pricesOf(query);
    const wanted = wantedOf(query);
    if (!wanted) return { slots: this.pageOfPrices(prices, query), total: prices.count };
    const few = this.fewOf(wanted, phrases);
    if (few) return this.pickFew(held(few, prices), query);
    const matches = this.sets.takeCopy(this.active);
    this.keepText(matches, wanted, phrases);
    const picked = this.pickAmong(matches, prices, query);
    this.sets.giveBack(matches);
    return picked;
  }

  private pickFew(slots: SlotList, query: IndexQuery): Picked {
    const total = slots.length;
    const { order, page } = this.pageOrder(query);
    if (this.isPickedApart(total, page)) return { slots: pageIn(slots, order, page), total };
    const matches = this.sets.takeEmpty();
    matches.addAll(slots);
    const found = pageOf(order, page, { total, matches }) ?? pageIn(slots, order, page);
    this.sets.giveBack(matches);
    return { slots: found, total };
  }

  /** Prices are looked at for each match, or as sets of bits: whichever takes less. */
  private pickAmong(matches: BitSet, prices: PriceRange, query: IndexQuery): Picked {
    const matched = this.sets.count(matches);
    if (prices.isAll) return { slots: this.pageAmong(matches, matched, query), total: matched };
    if (matched < Math.min(prices.count, this.size - prices.count)) return this.pickFew(held(this.sets.slots(matches, matched), prices), query);
    this.keepPrices(matches, prices);
    const total = this.sets.count(matches);
    return { slots: this.pageAmong(matches, total, query), total };
  }

  private slotsOf(wanted: TextQuery, likely: BitSet[]): SlotList {
    const matches = this.sets.takeCopy(this.active);
    for (const set of likely) this.sets.intersect(matches, set);
    this.keepText(matches, wanted, NO_PHRASES);
    const slots = this.sets.slots(matches, this.sets.count(matches));
    this.sets.giveBack(matches);
    return slots;
  }

  /** The part of the order by price that is within the bounds, both inclusive. */
  private pricesOf({ minPriceMicros = 0, maxPriceMicros = Infinity }: IndexQuery): PriceRange {
    const first = this.byPrice.countWhile((slot) => this.priceMicros[slot]! < minPriceMicros);
    const end = this.byPrice.countWhile((slot) => this.priceMicros[slot]! <= maxPriceMicros);
    const count = Math.max(end - first, 0);
    return { first, end, count, isAll: count === this.size, holds: (slot) => this.priceMicros[slot]! >= minPriceMicros && this.priceMicros[slot]! <= maxPriceMicros };
  }

  /** Sets what is in the range, or clears what is not. */
  private keepPrices(matches: BitSet, { first, end, count }: PriceRange): void {
    if (count * 2 > this.size) {
      for (let position = 0; position < first; position += 1) matches.remove(this.byPrice.at(position));
      for (let position = end; position < this.size; position += 1) matches.remove(this.byPrice.at(position));
    } else {
      const within = this.sets.takeEmpty();
      within.addAll(this.byPrice.part(first, end));
      this.sets.intersect(matches, within);
      this.sets.giveBack(within);
    }
  }

  private keepText(matches: BitSet, query: TextQuery, phrases: PhraseSlots): void {
    if (query.kind === 'word') return this.words.intersectInto(matches, query.lexeme);
    if (query.kind === 'and') return query.parts.forEach((part) => this.keepText(matches, part, phrases));
    if (query.kind === 'not' && query.part.kind === 'word') return this.words.subtractFrom(matches, query.part.lexeme);
    const found = this.sets.takeEmpty();
    this.addText(found, query.kind === 'not' ? query.part : query, phrases);
    if (query.kind === 'not') this.sets.subtract(matches, found);
    else this.sets.intersect(matches, found);
    this.sets.giveBack(found);
  }

  private addText(found: BitSet, query: TextQuery, phrases: PhraseSlots): void {
    if (query.kind === 'word') return this.words.uniteInto(found, query.lexeme);
    if (query.kind === 'phrase') return found.addAll(phrases(query.words));
    if (query.kind === 'or') return query.parts.forEach((part) => this.addText(found, part, phrases));
    const matches = this.sets.takeCopy(this.active);
    this.keepText(matches, query, phrases);
    this.sets.unite(found, matches);
    this.sets.giveBack(matches);
  }

  private pageAmong(matches: BitSet, total: number, query: IndexQuery): ArrayLike<number> {
    const { order, page } = this.pageOrder(query);
    if (this.isPickedApart(total, page, matches.words.length / WORDS_LISTED_FOR_A_STEP)) return pageIn(this.sets.slots(matches, total), order, page);
    return pageOf(order, page, { total, matches }) ?? pageIn(this.sets.slots(matches, total), order, page);
  }

  /** No set is needed where a price range is all there is: the order by price has it in one piece. */
  private pageOfPrices({ first, end, count, holds }: PriceRange, query: IndexQuery): ArrayLike<number> {
    const { order, page } = this.pageOrder(query);
    if (count === this.size) return pieceOf(order, page, 0, count);
    if (order === this.byPrice) return pieceOf(order, page, first, end);
    const walked = this.isPickedApart(count, page) ? undefined : pageOf(order, page, { total: count, holds });
    return walked ?? pageIn(this.byPrice.part(first, end).slice(), order, page);
  }

  /**
   * Whether a page is found sooner by comparing each match with the best so far than by walking the order until enough
   * matches were met, which is the longer the fewer there are.
   * @param listing steps that it takes to list the matches.
   */
  private isPickedApart(total: number, { offset, limit }: Page, listing = 0): boolean {
    return total <= SORTED_APART || (offset + limit <= MOST_PICKED && (listing + total * COMPARED_FOR_A_STEP) * total < this.size * (offset + limit));
  }

  private pageOrder({ sort, offset, limit }: IndexQuery): { order: OrderedSlots; page: Page } {
    const order = { newest: this.byAge, popular: this.byCalls, price_low: this.byPrice, price_high: this.byPrice }[sort];
    return { order, page: { descending: sort !== 'price_low', offset, limit } };
  }

  private orderedBy(column: () => Float64Array): OrderedSlots {
    return new OrderedSlots(column, (a, b) => this.ids.compare(a, b));
  }

  private reserve(slots: number): void {
    this.sets.reserve(slots);
    if (slots > this.createdAtMs.length) {
      const capacity = Math.max(slots, Math.ceil(this.createdAtMs.length * 1.25));
      this.createdAtMs = lengthened(this.createdAtMs, capacity);
      this.priceMicros = lengthened(this.priceMicros, capacity);
      this.completedCalls = lengthened(this.completedCalls, capacity);
    }
  }
}

const NO_SLOTS = new Uint32Array(0);

/** For queries without any. */
const NO_PHRASES: PhraseSlots = () => NO_SLOTS;

/** All that listings must have but their prices; undefined when that is nothing. */
function wantedOf({ categoryId, pricingModel, deliveryType, text }: IndexQuery): TextQuery | undefined {
  const marks = [categoryId !== undefined && categoryMark(categoryId), pricingModel !== undefined && pricingMark(pricingModel), deliveryType !== undefined && deliveryMark(deliveryType)];
  const parts: TextQuery[] = marks.filter((mark) => mark !== false).map((lexeme) => ({ kind: 'word', lexeme }));
  if (text) parts.push(text);
  return parts.length > 1 ? { kind: 'and', parts } : parts[0];
}

// No lexeme holds a blank.
const categoryMark = (id: string | null): string => `category ${id}`;
const pricingMark = (model: string): string => `pricing ${model}`;
const deliveryMark = (type: string): string => `delivery ${type}`;

interface Page {
  descending: boolean;
  offset: number;
  limit: number;
}

/** Those of some slots whose prices are in a range. */
function held(slots: SlotList, { isAll, holds }: PriceRange): SlotList {
  if (isAll) return slots;
  const kept = new Uint32Array(slots.length);
  let count = 0;
  for (let index = 0; index < slots.length; index += 1) if (holds(slots[index]!)) kept[count++] = slots[index]!;
  return kept.subarray(0, count);
}

/** A page of ascending slots, which are put in order as far as it needs. */
function pageIn(slots: Uint32Array, order: OrderedSlots, { descending, offset, limit }: Page): Uint32Array {
  const wanted = offset + limit;
  // Slots are mostly as old as their listings, and equal ones stand in that order: so the first are met first.
  const likelyInOrder = descending ? slots.reverse() : slots;
  const sign = descending ? -1 : 1;
  const found = wanted <= MOST_PICKED ? firstOf(likelyInOrder, wanted, order, sign) : likelyInOrder.sort((a, b) => sign * order.compare(a, b));
  return found.subarray(offset, wanted);
}

/** The first few of some slots: mostly a look at the key of each. */
function firstOf(slots: Uint32Array, wanted: number, order: OrderedSlots, sign: 1 | -1): Uint32Array {
  const { keys } = order;
  const found = new Uint32Array(Math.min(wanted, slots.length));
  let count = 0;
  let lastKey = Infinity;
  for (let index = 0; index < slots.length; index += 1) {
    const slot = slots[index]!;
    if (sign * keys[slot]! > lastKey) continue;
    if (count === found.length && sign * order.compare(slot, found[count - 1]!) > 0) continue;
    let at = count === found.length ? count - 1 : count++;
    for (; at > 0 && sign * order.compare(slot, found[at - 1]!) < 0; at -= 1) found[at] = found[at - 1]!;
    found[at] = slot;
    if (count === found.length) lastKey = sign * keys[found[count - 1]!]!;
  }
  return found;
}

/** Which slots of an order are meant, and how many they are. */
type Among = { total: number } & ({ matches: BitSet } | { holds(slot: number): boolean });

/** Where a page of so many slots starts and ends in their ascending order. */
function boundsOf({ descending, offset, limit }: Page, total: number): [first: number, last: number] {
  const [start, end] = [Math.min(offset, total), Math.min(offset + limit, total)];
  return descending ? [total - end, total - start] : [start, end];
}

/** A page of a piece of an order. */
function pieceOf(order: OrderedSlots, page: Page, from: number, to: number): Uint32Array {
  const [first, last] = boundsOf(page, Math.max(to - from, 0));
  const slots = order.part(from + first, from + last).slice();
  return page.descending ? slots.reverse() : slots;
}

/**
 * A page of some slots of an order; counted from whichever end is closer, so that no page is deeper than half.
 * @returns undefined where they are so far from that end that picking them out takes less than walking on.
 */
function pageOf(order: OrderedSlots, page: Page, among: Among): Uint32Array | undefined {
  const { total } = among;
  const [first, last] = boundsOf(page, total);
  const slots = order.part(0, order.length);
  const steps = page.offset + page.limit <= MOST_PICKED ? Math.min(total * COMPARED_FOR_A_STEP, slots.length) : slots.length;
  const found = new Uint32Array(last - first);
  const isAscending = first <= total - last;
  const filled = isAscending ? walk(slots, 0, 1, steps, first, found, among) : walk(slots, slots.length - 1, -1, steps, total - last, found, among);
  if (!filled) return undefined;
  return isAscending === page.descending ? found.reverse() : found;
}

/**
 * Fills a page with the slots that match from one end on, after so many that are passed over. Most steps meet none: the loops do as
 * little as can be.
 * @returns whether the steps were enough.
 */
function walk(slots: Uint32Array, from: number, step: 1 | -1, steps: number, passed: number, page: Uint32Array, among: Among): boolean {
  const end = from + step * steps;
  let left = passed;
  let found = 0;
  if ('matches' in among) {
    const { words } = among.matches;
    const has = (slot: number): number => (words[slot >>> 5]! >>> (slot & 31)) & 1;
    let position = from;
    // No branch for a processor to guess wrong: while more are left than four slots may have, it does not matter which they are.
    for (const fourAhead = end - 4 * step; left > 4 && position * step < fourAhead * step; position += 4 * step) {
      left -= has(slots[position]!) + has(slots[position + step]!) + has(slots[position + 2 * step]!) + has(slots[position + 3 * step]!);
    }
    for (; found < page.length && position !== end; position += step) if (has(slots[position]!) === 1 && --left < 0) page[found++] = slots[position]!;
  } else {
    for (let position = from; found < page.length && position !== end; position += step) if (among.holds(slots[position]!) && --left < 0) page[found++] = slots[position]!;
  }
  return found === page.length;
}
