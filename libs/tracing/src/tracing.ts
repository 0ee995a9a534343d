import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { KeptSpans } from './kept-spans.js';
import { OtlpExporter, type Collector } from './otlp-exporter.js';
import { Span, SpanKind, type Place } from './span.js';

export interface TracingSettings extends Collector {
  /** The part of all traces that is kept, 0 to 1; those in which something failed are kept beside. */
  ratio: number;
}

interface Tracing {
  ratio: number;
  spans: KeptSpans;
}

/** Undefined where nothing is traced. A process has one, whichever services it holds. */
let tracing: Tracing | undefined;

/**
 * The sampled span that the statements of this turn belong to. What decides about money is never read from here. While it is enabled, Node.js 20
 * runs a hook for every promise of the process, so it is disabled when work within no such span is under way.
 */
const current = new AsyncLocalStorage<Span | undefined>();
let entered = 0;

/** @returns how to stop: what was traced is sent, for a few seconds at most. */
export function startTracing({ ratio, ...collector }: TracingSettings): () => Promise<void> {
  const exporter = new OtlpExporter(collector);
  tracing = { ratio, spans: new KeptSpans((span) => exporter.add(span)) };
  return () => {
    tracing = undefined;
    return exporter.close();
  };
}

/** The ids of a trace that began elsewhere, or that is to be named by something else. */
export interface Origin {
  traceId: string;
  parentId?: string;
}

/** The first span that this marketplace has of a trace. It decides alone whether the trace is sampled: strangers do not. */
export function startTrace(name: string, kind: SpanKind, { traceId, parentId }: Origin): Span | undefined {
  return tracing && open(tracing, name, kind, { traceId, parentId, sampled: isSampled(traceId, tracing.ratio) });
}

/** A span under that of the process which asks, or which asked; without one, a trace of its own. */
export function startSpan(name: string, kind: SpanKind, traceparent: string | undefined): Span | undefined {
  if (!tracing) return undefined;
  const [, traceId, parentId, flags] = traceparent?.split('-') ?? [];
  if (!traceId || !parentId) return startTrace(name, kind, { traceId: newTraceId() });
  return open(tracing, name, kind, { traceId, parentId, sampled: (Number.parseInt(flags!, 16) & 1) === 1 });
}

/** Work that begins by itself: a trace of its own, which is sent if it is sampled and `keep` is told that something was done in it, or if it failed. */
export function startRun(name: string): Span | undefined {
  if (!tracing) return undefined;
  const traceId = newTraceId();
  tracing.spans.hold(traceId);
  return startTrace(name, SpanKind.Step, { traceId });
}

/** A step of what is under way in a sampled trace. What it throws does not fail it: `work` says what does. */
export function traceStep<T>(name: string, kind: SpanKind, work: (step?: Span) => Promise<T>): Promise<T> {
  const parent = currentSpan();
  if (!tracing || !parent) return work();
  const { traceId, id: parentId, sampled } = parent;
  const step = open(tracing, name, kind, { traceId, parentId, sampled });
  return work(step).finally(() => step.end());
}

/** Of a sampled trace. Undefined outside of one, and in what goes on after the answer: the span is over then. */
export function currentSpan(): Span | undefined {
  const span = entered > 0 ? current.getStore() : undefined;
  return span?.endedAt === undefined ? span : undefined;
}

/** Does work whose steps belong to this span, if it is sampled. */
export function within<T>(span: Span | undefined, work: () => Promise<T>): Promise<T> {
  if (!span?.sampled) return entered === 0 ? work() : current.run(undefined, work);
  entered += 1;
  return current.run(span, work).finally(() => {
    entered -= 1;
    if (entered === 0) current.disable();
  });
}

/** Work that several requests share is shown in the trace of one of them, to which the others link. */
export function withinOneOf<T>(requests: { span: Span | undefined }[], work: () => Promise<T>): Promise<T> {
  if (!tracing) return work();
  const [shown, ...others] = requests.flatMap(({ span }) =>
    span?.sampled && span.endedAt === undefined ? [span] : [],
  );
  for (const span of others) if (span !== shown) span.links.push(shown!);
  return within(shown, work);
}

/** Whether the trace is kept although it is not sampled, because something failed in it; whoever asked keeps its part, too. */
export const isKept = (span: Span | undefined): boolean => span !== undefined && tracing?.spans.isKept(span) === true;

/** The trace that this belongs to is kept, where that was not certain. */
export const keep = (span: Span | undefined): void => void (span && tracing?.spans.keep(span));

const newTraceId = (): string => randomUUID().replaceAll('-', '');

function open({ spans }: Tracing, name: string, kind: SpanKind, place: Place): Span {
  const span = new Span(name, kind, place, spans);
  spans.started(span);
  return span;
}

/** By the trace's id, so that all requests of one trace are treated alike. Its last digits are random, also where it is a UUIDv7. */
const isSampled = (traceId: string, ratio: number): boolean =>
  Number.parseInt(traceId.slice(-13), 16) / 2 ** 52 < ratio;
