import { UnavailableError } from '@market/kernel';
import { currentSpan, withinOneOf, type Span } from '@market/tracing';

interface Waiting<I, O> {
  item: I;
  span: Span | undefined;
  resolve: (value: O) => void;
  reject: (reason: unknown) => void;
}

interface Options<I> {
  maxSize?: number;
  /** How many groups are written at the same time. */
  lanes?: number;
  /** Items with the same key are written in different groups, in the order of their arrival. */
  keyOf?: (item: I) => string;
}

/**
 * Groups concurrent operations into one statement or transaction, and resolves each after the common commit. Operations
 * that arrive while a group is being executed form the next group. There is no timer, so a single operation is not
 * delayed: a group begins after two turns of the event loop. By then, what could already be read was read, and the
 * operations that follow from it have joined the group.
 */
export class GroupCommit<I, O> {
  private waiting: Waiting<I, O>[] = [];
  private running = 0;
  private isScheduled = false;
  private readonly maxSize: number;
  private readonly lanes: number;
  private readonly keyOf: ((item: I) => string) | undefined;

  /**
   * @param write gets at most `maxSize` items and returns their results in order. If it throws and the group had
   * several items, each item is tried alone, so that one bad item does not fail the others. An outage fails all of them
   * at once.
   */
  constructor(
    private readonly write: (items: I[]) => Promise<(O | Error)[]>,
    { maxSize = 128, lanes = 1, keyOf }: Options<I> = {},
  ) {
    this.maxSize = maxSize;
    this.lanes = lanes;
    this.keyOf = keyOf;
  }

  submit(item: I): Promise<O> {
    return new Promise<O>((resolve, reject) => {
      this.waiting.push({ item, span: currentSpan(), resolve, reject });
      this.schedule();
    });
  }

  private schedule(): void {
    if (this.isScheduled || this.running >= this.lanes || this.waiting.length === 0) return;
    this.isScheduled = true;
    setImmediate(() => setImmediate(() => this.start()));
  }

  private start(): void {
    this.isScheduled = false;
    while (this.running < this.lanes && this.waiting.length > 0) {
      this.running += 1;
      void this.run(this.takeGroup()).finally(() => {
        this.running -= 1;
        this.schedule();
      });
    }
  }

  private takeGroup(): Waiting<I, O>[] {
    if (!this.keyOf) return this.waiting.splice(0, this.maxSize);
    const group = new Map<string, Waiting<I, O>>();
    const later: Waiting<I, O>[] = [];
    for (const waiting of this.waiting) {
      const key = this.keyOf(waiting.item);
      if (group.size < this.maxSize && !group.has(key)) group.set(key, waiting);
      else later.push(waiting);
    }
    this.waiting = later;
    return [...group.values()];
  }

  private async run(group: Waiting<I, O>[]): Promise<void> {
    try {
      const results = await withinOneOf(group, () => this.write(group.map((waiting) => waiting.item)));
      group.forEach((waiting, index) => {
        const result = results[index]!;
        if (result instanceof Error) waiting.reject(result);
        else waiting.resolve(result);
      });
    } catch (error) {
      if (group.length === 1 || error instanceof UnavailableError)
        return group.forEach((waiting) => waiting.reject(error));
      for (const waiting of group) await this.run([waiting]);
    }
  }
}
