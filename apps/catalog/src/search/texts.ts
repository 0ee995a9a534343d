import { Rows } from './rows.js';

const PAGE_BYTES = 1 << 20;
/** UTF-8 takes no more for what a string counts as one. */
const MOST_BYTES = 3;
const [OPENING, COMMA, CLOSING] = Buffer.from('[,]');

/** JSON texts by their numbers, from 0 on. */
export class Texts {
  private readonly rows = new Rows((bytes) => Buffer.allocUnsafeSlow(bytes), PAGE_BYTES);
  private joined = Buffer.allocUnsafeSlow(PAGE_BYTES);

  add(text: string): void {
    this.rows.add(text.length * MOST_BYTES, (page, start) => start + page.write(text, start));
  }

  /** The JSON array of some texts. Their bytes are put side by side: strings of each would be made and copied several times. */
  arrayOf(numbers: ArrayLike<number>): string {
    let end = 0;
    this.joined[end++] = OPENING!;
    for (let index = 0; index < numbers.length; index += 1) {
      const number = numbers[index]!;
      const [from, to] = [this.rows.start(number), this.rows.end(number)];
      this.reserve(end + to - from + 2);
      if (index > 0) this.joined[end++] = COMMA!;
      end += this.rows.page(number).copy(this.joined, end, from, to);
    }
    this.joined[end++] = CLOSING!;
    return this.joined.toString('utf8', 0, end);
  }

  private reserve(bytes: number): void {
    if (bytes <= this.joined.length) return;
    const former = this.joined;
    this.joined = Buffer.allocUnsafeSlow(bytes * 2);
    former.copy(this.joined);
  }
}
