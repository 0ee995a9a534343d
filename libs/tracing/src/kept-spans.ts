import type { Span } from './span.js';

/** The unsent spans of one trace in this process. */
interface Held {
  open: number;
  kept: boolean;
  ended: Span[];
}

/** Limits that bound the memory if spans never end or never stop arriving. */
const MAX_TRACES = 10_000;
const MAX_SPANS_OF_TRACE = 1_000;

/**
 * Decides which spans are sent. Spans of sampled traces are sent when they end. Spans of other traces, and of traces
 * that are held, wait until this process has no open span of their trace. They are then sent if one of them failed here
 * or in a called process, or if their trace is kept for another reason.
 */
export class KeptSpans {
  private readonly traces = new Map<string, Held>();

  constructor(private readonly send: (span: Span) => void) {}

  /** Prepares a trace that will be sent only if it is kept. */
  hold(traceId: string): void {
    if (this.traces.size >= MAX_TRACES) this.traces.delete(this.traces.keys().next().value!);
    this.traces.set(traceId, { open: 0, kept: false, ended: [] });
  }

  started({ sampled, traceId }: Span): void {
    if (!sampled && !this.traces.has(traceId)) this.hold(traceId);
    const trace = this.traces.get(traceId);
    if (trace) trace.open += 1;
  }

  ended(span: Span): void {
    const trace = this.traces.get(span.traceId);
    if (!trace) {
      if (span.sampled) this.send(span);
      return;
    }
    if (trace.ended.length < MAX_SPANS_OF_TRACE) trace.ended.push(span);
    trace.kept ||= span.hasFailed;
    if ((trace.open -= 1) > 0) return;
    this.traces.delete(span.traceId);
    if (trace.kept) trace.ended.forEach(this.send);
  }

  /** Keeps a trace in which another process reported a failure, or in which a run changed something. */
  keep({ traceId }: Span): void {
    const trace = this.traces.get(traceId);
    if (trace) trace.kept = true;
  }

  /** Whether a waiting trace is kept. */
  isKept({ traceId }: Span): boolean {
    return this.traces.get(traceId)?.kept === true;
  }
}
