/** Of OTLP's kinds, those that occur here: a step, the serving of a request, the asking of somebody else, and the handling of an event. */
export enum SpanKind {
  Step = 1,
  Server = 2,
  Client = 3,
  Consumer = 5,
}

/** Ids, names and outcomes; never a body, a header, a URL of a seller or another secret. */
export type Attributes = Record<string, string | number | undefined>;

/** Where a span belongs. */
export interface Place {
  traceId: string;
  parentId?: string;
  /** Whether the trace is one of those that are kept however they end. */
  sampled: boolean;
}

/** One thing that was done for a request, from when to when. */
export class Span {
  readonly traceId: string;
  readonly parentId: string | undefined;
  readonly sampled: boolean;
  readonly id = randomHalf() + randomHalf();
  readonly startedAt = nowMicros();
  readonly attributes: Attributes = {};
  /** Spans of other traces that show what was done for this one, too. */
  readonly links: Span[] = [];
  endedAt: number | undefined;
  hasFailed = false;

  constructor(
    public name: string,
    readonly kind: SpanKind,
    { traceId, parentId, sampled }: Place,
    private readonly spans: { ended(span: Span): void },
  ) {
    this.traceId = traceId;
    this.parentId = parentId;
    this.sampled = sampled;
  }

  /** As W3C Trace Context names it to whoever is asked within it. */
  get traceparent(): string {
    return `00-${this.traceId}-${this.id}-${this.sampled ? '01' : '00'}`;
  }

  set(attributes: Attributes): this {
    Object.assign(this.attributes, attributes);
    return this;
  }

  /** The trace is kept, though it may not be sampled. */
  fail(reason: string): this {
    this.hasFailed = true;
    return this.set({ 'error.type': reason });
  }

  end(): void {
    if (this.endedAt !== undefined) return;
    this.endedAt = nowMicros();
    this.spans.ended(this);
  }
}

/** Half an id of a span. Nobody is kept out by it, so that it need not be hard to guess, and it is never the zero that means none. */
const randomHalf = (): string => (1 + Math.floor(Math.random() * (2 ** 32 - 1))).toString(16).padStart(8, '0');

const ANCHORED_FOR_MS = 10_000;
let anchor = { wall: 0, monotonic: -Infinity };

/** By the wall clock, to the microsecond. The monotonic clock alone would stand still while a machine sleeps. */
function nowMicros(): number {
  const monotonic = performance.now();
  if (monotonic - anchor.monotonic > ANCHORED_FOR_MS) anchor = { wall: Date.now(), monotonic };
  return Math.round((anchor.wall + monotonic - anchor.monotonic) * 1_000);
}
