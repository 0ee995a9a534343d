/** After this time, what no answer waits for is written, together with that of other calls. */
const WRITE_AFTER_MS = 50;

/** Collects what no answer waits for, by the id of its call, and writes it a moment later. */
export class WriteBehind<Item> {
  private items = new Map<string, Item>();
  private writing: Promise<unknown> = Promise.resolve();

  /** @param write is given the items in the order of their ids, and must not fail. */
  constructor(private readonly write: (items: Item[]) => Promise<void>) {}

  add(id: string, item: Item): void {
    this.items.set(id, item);
    if (this.items.size === 1) setTimeout(() => void this.flush(), WRITE_AFTER_MS).unref();
  }

  has(id: string): boolean {
    return this.items.has(id);
  }

  delete(id: string): void {
    this.items.delete(id);
  }

  /** @returns when everything that was added is written. */
  async flush(): Promise<void> {
    const items = [...this.items].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, item]) => item);
    this.items = new Map();
    if (items.length > 0) this.writing = Promise.all([this.writing, this.write(items)]);
    await this.writing;
  }
}
