import { NumberLists, type NumberPlace } from './number-lists.js';

/** After so many postings the largest blocks are in use, and a place in a list is two numbers. */
const MARK_EVERY = 256;

/**
 * For each posting of each word the positions of the word: the differences between them, doubled, and odd for the last.
 * A mark at every 256th posting lets readers jump.
 */
export class PositionLists {
  private readonly numbers = new NumberLists();
  private readonly marks = new Map<number, NumberPlace[]>();

  /** Begins the positions of a word's next posting. @param posting how many postings came before. */
  begin(word: number, posting: number): void {
    if (posting === 0 || posting % MARK_EVERY !== 0) return;
    const marks = this.marks.get(word);
    const place = this.numbers.end(word);
    if (marks) marks.push(place);
    else this.marks.set(word, [place]);
  }

  /** @param difference from the position before, in the same posting. */
  add(word: number, difference: number, isLast: boolean): void {
    this.numbers.append(word, (difference << 1) | Number(isLast));
  }

  read(word: number): PositionCursor {
    return new PositionCursor(this.numbers, this.numbers.start(word), this.marks.get(word) ?? []);
  }
}

/** Walks forward through the postings of one word. */
export class PositionCursor {
  /** Positions of the posting last asked for; the first `count` of them. */
  readonly positions = new Uint16Array(256);
  count = 0;
  private next = 0;

  constructor(
    private readonly numbers: NumberLists,
    private place: NumberPlace,
    private readonly marks: NumberPlace[],
  ) {}

  /** @param posting its number, greater than that of every posting asked for before. */
  moveTo(posting: number): void {
    if (posting - this.next >= MARK_EVERY) this.jump(Math.floor(posting / MARK_EVERY));
    if (posting > this.next) this.numbers.passOdd(this.place, posting - this.next);
    this.next = posting + 1;
    this.count = this.numbers.readToOdd(this.place, this.positions);
    let position = 0;
    for (let index = 0; index < this.count; index += 1) this.positions[index] = position += this.positions[index]! >>> 1;
  }

  /** Whether the word stands there in the posting last asked for. */
  includes(position: number): boolean {
    const { positions, count } = this;
    for (let index = 0; index < count; index += 1) if (positions[index]! >= position) return positions[index] === position;
    return false;
  }

  private jump(mark: number): void {
    this.place = { ...this.marks[mark - 1]! };
    this.next = mark * MARK_EVERY;
  }
}
