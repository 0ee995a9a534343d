import { lengthened } from './columns.js';

const WORDS = 2 ** 32;

/** The words of one text, by their numbers, in the order of their positions. */
export class OrderedWords {
  words = new Uint32Array(256);
  positions = new Uint32Array(256);
  count = 0;
  private keys = new Float64Array(256);

  clear(): void {
    this.count = 0;
  }

  /** In any order, until `sort`. */
  put(word: number, position: number): void {
    if (this.count === this.keys.length) this.grow();
    this.keys[this.count++] = position * WORDS + word;
  }

  sort(): void {
    const keys = this.keys.subarray(0, this.count).sort();
    for (let index = 0; index < keys.length; index += 1) {
      this.positions[index] = keys[index]! / WORDS;
      this.words[index] = keys[index]! - this.positions[index]! * WORDS;
    }
  }

  private grow(): void {
    this.keys = lengthened(this.keys, this.keys.length * 2);
    this.words = new Uint32Array(this.keys.length);
    this.positions = new Uint32Array(this.keys.length);
  }
}
