import { lengthened } from './columns.js';

const PAGE_BITS = 20;
const PAGE_BYTES = 1 << PAGE_BITS;
const IN_PAGE = PAGE_BYTES - 1;
/** Blocks double from the first to the largest; each ends with the position of the next. */
const FIRST_BLOCK = 16;
const LARGEST_BLOCK = 256;
const LINK_BYTES = 4;
/** Of one number: 28 bits. */
const MOST_BYTES = 4;

/** What is known of each list, side by side so that adding to one touches little memory. */
const FIELDS = 4;
const [FIRST, NEXT, LIMIT, BLOCK] = [0, 1, 2, 3];

/** Many lists of small numbers that grow side by side: seven bits a byte, in blocks that are linked. */
export class NumberLists {
  private lists = new Int32Array(FIELDS * 1_024);
  private readonly pages: Uint8Array[] = [];
  private free = 0;

  get bytes(): number {
    return this.pages.length * PAGE_BYTES + this.lists.byteLength;
  }

  /** @param number below 2^28. */
  append(list: number, number: number): void {
    const at = list * FIELDS;
    if (at >= this.lists.length) this.growLists(at + FIELDS);
    const { lists } = this;
    if (lists[at + BLOCK] === 0) {
      this.startBlock(at, FIRST_BLOCK);
      lists[at + FIRST] = lists[at + NEXT]!;
    } else if (lists[at + NEXT]! > lists[at + LIMIT]!) {
      const link = lists[at + LIMIT]! + MOST_BYTES;
      this.startBlock(at, Math.min(lists[at + BLOCK]! * 2, LARGEST_BLOCK));
      writeLink(this.pages[link >>> PAGE_BITS]!, link, lists[at + NEXT]!);
    }
    let byte = lists[at + NEXT]!;
    const page = this.pages[byte >>> PAGE_BITS]!;
    for (; number > 0x7f; number >>>= 7) page[byte++ & IN_PAGE] = (number & 0x7f) | 0x80;
    page[byte++ & IN_PAGE] = number;
    lists[at + NEXT] = byte;
  }

  /** The whole of a list that was given as many numbers. */
  read(list: number, count: number): Uint32Array {
    const numbers = new Uint32Array(count);
    let at = this.lists[list * FIELDS + FIRST] ?? 0;
    let block = FIRST_BLOCK;
    let limit = limitOf(at, block);
    let page = this.pages[at >>> PAGE_BITS]!;
    for (let index = 0; index < count; index += 1) {
      if (at > limit) {
        at = readLink(page, limit + MOST_BYTES);
        block = Math.min(block * 2, LARGEST_BLOCK);
        limit = limitOf(at, block);
        page = this.pages[at >>> PAGE_BITS]!;
      }
      let byte = page[at++ & IN_PAGE]!;
      let number = byte & 0x7f;
      for (let shift = 7; byte > 0x7f; shift += 7) {
        byte = page[at++ & IN_PAGE]!;
        number |= (byte & 0x7f) << shift;
      }
      numbers[index] = number;
    }
    return numbers;
  }

  /** Blocks never lie across pages. */
  private startBlock(at: number, bytes: number): void {
    if ((this.free & IN_PAGE) + bytes > PAGE_BYTES) this.free = this.pages.length * PAGE_BYTES;
    if (this.free === this.pages.length * PAGE_BYTES) this.pages.push(new Uint8Array(PAGE_BYTES));
    this.lists[at + NEXT] = this.free;
    this.lists[at + LIMIT] = limitOf(this.free, bytes);
    this.lists[at + BLOCK] = bytes;
    this.free += bytes;
  }

  private growLists(length: number): void {
    this.lists = lengthened(this.lists, Math.max(length, Math.ceil((this.lists.length * 1.5) / FIELDS) * FIELDS));
  }
}

/** The last position in a block where a number may begin. */
const limitOf = (start: number, bytes: number): number => start + bytes - LINK_BYTES - MOST_BYTES;

function writeLink(page: Uint8Array, at: number, position: number): void {
  for (let byte = 0; byte < LINK_BYTES; byte += 1) page[(at + byte) & IN_PAGE] = position >>> (byte * 8);
}

function readLink(page: Uint8Array, at: number): number {
  let position = 0;
  for (let byte = 0; byte < LINK_BYTES; byte += 1) position |= page[(at + byte) & IN_PAGE]! << (byte * 8);
  return position;
}
