import { lengthened } from './columns.js';

/** Slots in one order, changed in batches: each batch moves what stands between its places once, however large it is. */
export class OrderedSlots {
  private slots = new Uint32Array(1_024);
  length = 0;

  /**
   * @param column gives the key of each slot.
   * @param compareEqual a total order of slots that have the same key; zero means the same slot.
   */
  constructor(
    private readonly column: () => Float64Array,
    private readonly compareEqual: (a: number, b: number) => number,
  ) {}

  /** By slot. */
  get keys(): Float64Array {
    return this.column();
  }

  compare(a: number, b: number): number {
    const { keys } = this;
    return keys[a]! - keys[b]! || this.compareEqual(a, b);
  }

  at(position: number): number {
    return this.slots[position]!;
  }

  /** The slots from one position up to another, until the next change. */
  part(first: number, end: number): Uint32Array {
    return this.slots.subarray(first, Math.max(first, end));
  }

  /** How many slots stand before the first for which `isBefore` is false; it must be true for a prefix of the order. */
  countWhile(isBefore: (slot: number) => boolean): number {
    let [low, high] = [0, this.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isBefore(this.slots[middle]!)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /**
   * Takes slots out and puts others in. Only what stands between a place that is freed and one that is taken moves: a slot that takes the
   * place of another moves nothing.
   * @param removed all of which are here, with the keys they were added with.
   * @param added none of which is here.
   */
  change(removed: Uint32Array, added: Uint32Array): void {
    const gone = Uint32Array.from(removed, (slot) => this.positionOf(slot)).sort();
    const coming = added.slice().sort((a, b) => this.compare(a, b));
    const places = coming.map((slot) => this.positionOf(slot));
    this.reserve(this.length + coming.length - gone.length);
    const pieces = piecesBetween(gone, places, this.length);
    // What moves down makes room for what is behind it, what moves up for what is before it.
    for (const piece of pieces) if (piece.to < piece.from) this.move(piece);
    for (const piece of pieces.reverse()) if (piece.to > piece.from) this.move(piece);
    for (let index = 0, freed = 0; index < coming.length; index += 1) {
      while (freed < gone.length && gone[freed]! < places[index]!) freed += 1;
      this.slots[places[index]! - freed + index] = coming[index]!;
    }
    this.length += coming.length - gone.length;
  }

  private move({ from, end, to }: Piece): void {
    this.slots.copyWithin(to, from, end);
  }

  private positionOf(slot: number): number {
    return this.countWhile((other) => this.compare(other, slot) < 0);
  }

  private reserve(length: number): void {
    if (length <= this.slots.length) return;
    this.slots = lengthened(this.slots, Math.max(length, Math.ceil(this.slots.length * 1.5)));
  }
}

/** Slots that stay side by side, and where their first goes. */
interface Piece {
  from: number;
  end: number;
  to: number;
}

/**
 * What positions that are given up, and places before which others come, leave in one piece.
 * @param gone and `places` ascending.
 */
function piecesBetween(gone: Uint32Array, places: Uint32Array, length: number): Piece[] {
  const pieces: Piece[] = [];
  let [from, freed, taken] = [0, 0, 0];
  while (from < length) {
    while (taken < places.length && places[taken]! <= from) taken += 1;
    if (gone[freed] === from) {
      freed += 1;
      from += 1;
      continue;
    }
    const end = Math.min(gone[freed] ?? length, places[taken] ?? length);
    pieces.push({ from, end, to: from + taken - freed });
    from = end;
  }
  return pieces;
}
