/**
 * The kinds of OTLP that are used here: an internal step, serving a request, sending a request, and handling an event.
 */
export enum SpanKind {
  Step = 1,
  Server = 2,
  Client = 3,
  Consumer = 5,
}

/** Ids, names and outcomes; never a body, a header, a URL of a seller or another secret. */
export type Attributes = Record<string, string | number | undefined>;

/** The position of a span in a trace. */
export interface Place {
  traceId: string;
  parentId?: string;
  /** Whether the trace is sampled, which means that it is kept whatever its outcome is. */
  sampled: boolean;
}

/** One operation of a request, with its start and end. */
export class Span {
  readonly traceId: string;
  readonly parentId: string | undefined;
  readonly sampled: boolean;
  readonly id = randomHalf() + randomHalf();
  readonly startedAt = nowMicros();
  readonly attributes: Attributes = {};
  /** Spans of other traces that show work done for this span too. */
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

  /** The span as W3C Trace Context passes it to called services. */
  get traceparent(): string {
    return `00-${this.traceId}-${this.id}-${this.sampled ? '01' : '00'}`;
  }

  set(attributes: Attributes): this {
    Object.assign(this.attributes, attributes);
    return this;
  }

  /** Marks the span as failed. Its trace is then kept even if it is not sampled. */
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

/**
 * Half of a span id. It has no security purpose, so it may be predictable. It is never zero, because zero means no
 * span.
 */
const randomHalf = (): string => (1 + Math.floor(Math.random() * (2 ** 32 - 1))).toString(16).padStart(8, '0');

const ANCHORED_FOR_MS = 10_000;
let anchor = { wall: 0, monotonic: -Infinity };

/** The wall-clock time in microseconds. The monotonic clock alone would stop while a machine sleeps. */
function nowMicros(): number {
  const monotonic = performance.now();
  if (monotonic - anchor.monotonic > ANCHORED_FOR_MS) anchor = { wall: Date.now(), monotonic };
  return Math.round((anchor.wall + monotonic - anchor.monotonic) * 1_000);
}
