import { Rows } from './rows.js';

const PAGE_BYTES = 1 << 20;
/** UTF-8 takes no more for what a string counts as one. */
const MOST_BYTES = 3;

/** Texts by their numbers, from 0 on. */
export class Texts {
  private readonly rows = new Rows((bytes) => Buffer.allocUnsafeSlow(bytes), PAGE_BYTES);

  add(text: string): void {
    this.rows.add(text.length * MOST_BYTES, (page, start) => start + page.write(text, start));
  }

  at(number: number): string {
    return this.rows.page(number).toString('utf8', this.rows.start(number), this.rows.end(number));
  }
}
