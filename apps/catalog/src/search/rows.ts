import { lengthened } from './columns.js';

const FIELDS = 3;
const [PAGE, START, END] = [0, 1, 2];

/** Rows of numbers, by their own number from 0 on, beside the heap: a million arrays on it are looked through again and again for garbage. */
export class Rows<Page extends Uint8Array | Uint32Array> {
  private readonly pages: Page[] = [];
  /** In the last page. */
  private free = 0;
  private places = new Uint32Array(FIELDS * 1_024);
  private count = 0;

  /** @param pageLength of a page, unless a row needs a longer one. */
  constructor(
    private readonly newPage: (length: number) => Page,
    private readonly pageLength: number,
  ) {
    this.pages.push(newPage(pageLength));
  }

  /**
   * Adds the next row.
   * @param most how long it may be.
   * @param write puts it into a page from a place on, and returns where it ends.
   */
  add(most: number, write: (page: Page, start: number) => number): void {
    if (this.free + most > this.pages.at(-1)!.length) {
      this.pages.push(this.newPage(Math.max(most, this.pageLength)));
      this.free = 0;
    }
    const end = write(this.pages.at(-1)!, this.free);
    const place = this.count * FIELDS;
    if (place === this.places.length) this.places = lengthened(this.places, Math.ceil((place * 1.25) / FIELDS) * FIELDS);
    this.places[place + PAGE] = this.pages.length - 1;
    this.places[place + START] = this.free;
    this.places[place + END] = end;
    this.count += 1;
    this.free = end;
  }

  /** Where a row stands, from `start` to `end`. */
  page(row: number): Page {
    return this.pages[this.places[row * FIELDS + PAGE]!]!;
  }

  start(row: number): number {
    return this.places[row * FIELDS + START]!;
  }

  end(row: number): number {
    return this.places[row * FIELDS + END]!;
  }
}
