import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { KeptSpans } from './kept-spans.js';
import { OtlpExporter, type Collector } from './otlp-exporter.js';
import { Span, SpanKind, type Place } from './span.js';

export interface TracingSettings extends Collector {
  /** The part of all traces that is kept, from 0 to 1. Traces with a failure are kept in addition. */
  ratio: number;
}

interface Tracing {
  ratio: number;
  spans: KeptSpans;
}

/** Undefined if tracing is off. A process has one instance, whichever services it runs. */
let tracing: Tracing | undefined;

/**
 * The sampled span to which the statements of this turn belong. No decision about money depends on it. While it is
 * enabled, Node.js 20 runs a hook for every promise of the process, so it is disabled when no work within a sampled
 * span is in progress.
 */
const current = new AsyncLocalStorage<Span | undefined>();
let entered = 0;

/** @returns a function that stops tracing. It sends the remaining spans, for a few seconds at most. */
export function startTracing({ ratio, ...collector }: TracingSettings): () => Promise<void> {
  const exporter = new OtlpExporter(collector);
  tracing = { ratio, spans: new KeptSpans((span) => exporter.add(span)) };
  return () => {
    tracing = undefined;
    return exporter.close();
  };
}

/** The ids of a trace that began elsewhere, or whose id is predefined. */
export interface Origin {
  traceId: string;
  parentId?: string;
}

/**
 * Starts the marketplace's first span of a trace. The trace id alone decides whether the trace is sampled; external
 * callers cannot.
 */
export function startTrace(name: string, kind: SpanKind, { traceId, parentId }: Origin): Span | undefined {
  return tracing && open(tracing, name, kind, { traceId, parentId, sampled: isSampled(traceId, tracing.ratio) });
}

/** Starts a span under the span of `traceparent`. Without it, the span starts a trace of its own. */
export function startSpan(name: string, kind: SpanKind, traceparent: string | undefined): Span | undefined {
  if (!tracing) return undefined;
  const [, traceId, parentId, flags] = traceparent?.split('-') ?? [];
  if (!traceId || !parentId) return startTrace(name, kind, { traceId: newTraceId() });
  return open(tracing, name, kind, { traceId, parentId, sampled: (Number.parseInt(flags!, 16) & 1) === 1 });
}

/**
 * Starts a trace for work without a request. It is sent if it is sampled and `keep` was called because the work changed
 * something, or if the work failed.
 */
export function startRun(name: string): Span | undefined {
  if (!tracing) return undefined;
  const traceId = newTraceId();
  tracing.spans.hold(traceId);
  return startTrace(name, SpanKind.Step, { traceId });
}

/** Runs a step of the current sampled trace. An error does not mark the step as failed; `work` must do that. */
export function traceStep<T>(name: string, kind: SpanKind, work: (step?: Span) => Promise<T>): Promise<T> {
  const parent = currentSpan();
  if (!tracing || !parent) return work();
  const { traceId, id: parentId, sampled } = parent;
  const step = open(tracing, name, kind, { traceId, parentId, sampled });
  return work(step).finally(() => step.end());
}

/**
 * Returns the current span of a sampled trace. Undefined outside of one, and in work that continues after the span has
 * ended.
 */
export function currentSpan(): Span | undefined {
  const span = entered > 0 ? current.getStore() : undefined;
  return span?.endedAt === undefined ? span : undefined;
}

/** Runs work whose steps belong to this span, if it is sampled. */
export function within<T>(span: Span | undefined, work: () => Promise<T>): Promise<T> {
  if (!span?.sampled) return entered === 0 ? work() : current.run(undefined, work);
  entered += 1;
  return current.run(span, work).finally(() => {
    entered -= 1;
    if (entered === 0) current.disable();
  });
}

/** Runs work that several requests share. It is shown in the trace of one of them, to which the others link. */
export function withinOneOf<T>(requests: { span: Span | undefined }[], work: () => Promise<T>): Promise<T> {
  if (!tracing) return work();
  const [shown, ...others] = requests.flatMap(({ span }) =>
    span?.sampled && span.endedAt === undefined ? [span] : [],
  );
  for (const span of others) if (span !== shown) span.links.push(shown!);
  return within(shown, work);
}

/**
 * Whether the trace is kept although it is not sampled, because something failed in it. The caller then keeps its part
 * too.
 */
export const isKept = (span: Span | undefined): boolean => span !== undefined && tracing?.spans.isKept(span) === true;

/** Keeps the trace of this span, if that was not certain. */
export const keep = (span: Span | undefined): void => void (span && tracing?.spans.keep(span));

const newTraceId = (): string => randomUUID().replaceAll('-', '');

function open({ spans }: Tracing, name: string, kind: SpanKind, place: Place): Span {
  const span = new Span(name, kind, place, spans);
  spans.started(span);
  return span;
}

/**
 * Decides by the trace's id, so that all requests of one trace are treated alike. The last digits of the id are random,
 * even if it is a UUIDv7.
 */
const isSampled = (traceId: string, ratio: number): boolean =>
  Number.parseInt(traceId.slice(-13), 16) / 2 ** 52 < ratio;
