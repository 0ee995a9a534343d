const PAGE_BYTES = 1 << 20;
/** UTF-8 takes no more for what a string counts as one. */
const MOST_BYTES = 3;
const FIELDS = 3;
const [PAGE, START, END] = [0, 1, 2];

/** Texts by their numbers, from 0 on, beside the heap: a million strings on it are looked through again and again for garbage. */
export class Texts {
  private readonly pages = [Buffer.allocUnsafeSlow(PAGE_BYTES)];
  /** In the last page. */
  private free = 0;
  private places = new Uint32Array(FIELDS * 1_024);
  private count = 0;

  add(text: string): void {
    const most = text.length * MOST_BYTES;
    if (this.free + most > this.pages.at(-1)!.length) this.addPage(most);
    const end = this.free + this.pages.at(-1)!.write(text, this.free);
    const place = this.count * FIELDS;
    if (place === this.places.length) this.growPlaces();
    this.places[place + PAGE] = this.pages.length - 1;
    this.places[place + START] = this.free;
    this.places[place + END] = end;
    this.count += 1;
    this.free = end;
  }

  at(number: number): string {
    const place = number * FIELDS;
    return this.pages[this.places[place + PAGE]!]!.toString('utf8', this.places[place + START], this.places[place + END]);
  }

  /** A text that is longer than a page has one of its own. */
  private addPage(bytes: number): void {
    this.pages.push(Buffer.allocUnsafeSlow(Math.max(bytes, PAGE_BYTES)));
    this.free = 0;
  }

  private growPlaces(): void {
    const longer = new Uint32Array(Math.ceil((this.places.length * 1.25) / FIELDS) * FIELDS);
    longer.set(this.places);
    this.places = longer;
  }
}
