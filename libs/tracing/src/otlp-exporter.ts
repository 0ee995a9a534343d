import { setTimeout as delay } from 'node:timers/promises';
import type { Attributes, Span } from './span.js';

export interface Collector {
  /** The URL of the collector. Traces are posted to `<endpoint>/v1/traces`. */
  endpoint: string;
  headers: Record<string, string>;
  /** The name of the process, and other attributes that all of its spans share. */
  resource: Attributes;
  /** Reports problems with the export to the operator. */
  warn(message: string): void;
}

const SEND_EVERY_MS = 1_000;
const BATCH = 512;
/** Spans beyond this number are dropped while the collector is slow or unavailable. */
const MAX_WAITING = 8_192;
const TIMEOUT_MS = 10_000;
const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 30_000;
const CLOSE_WITHIN_MS = 5_000;
/** The status codes after which OTLP allows the same batch to be sent again. */
const RETRYABLE = [429, 502, 503, 504];

/** Sends spans in batches by OTLP/HTTP in JSON. No request ever waits for it. */
export class OtlpExporter {
  private readonly url: string;
  private readonly waiting: Span[] = [];
  private readonly closing = new AbortController();
  private dropped = 0;
  private sending: Promise<void> | undefined;

  constructor(private readonly collector: Collector) {
    this.url = `${collector.endpoint.replace(/\/+$/, '')}/v1/traces`;
  }

  add(span: Span): void {
    if (this.waiting.length >= MAX_WAITING) return void (this.dropped += 1);
    this.waiting.push(span);
    this.sending ??= this.send().finally(() => (this.sending = undefined));
  }

  async close(): Promise<void> {
    this.closing.abort();
    await Promise.race([this.sending, delay(CLOSE_WITHIN_MS, undefined, { ref: false })]);
  }

  /** Ends when no span is waiting. */
  private async send(): Promise<void> {
    while (this.waiting.length > 0) {
      if (this.waiting.length < BATCH) await this.pause(SEND_EVERY_MS);
      await this.deliver(this.waiting.splice(0, BATCH));
    }
  }

  private async deliver(batch: Span[]): Promise<void> {
    const body = JSON.stringify(toOtlp(batch, this.collector.resource));
    for (let retryMs = FIRST_RETRY_MS; ; retryMs = Math.min(2 * retryMs, MAX_RETRY_MS)) {
      const problem = await this.post(body);
      if (problem && retryMs === FIRST_RETRY_MS) this.collector.warn(`traces are not taken: ${problem.why}`);
      if (problem?.mayComeAgain && !this.closing.signal.aborted) {
        await this.pause(problem.afterMs ?? retryMs);
        continue;
      }
      if (this.dropped > 0)
        this.collector.warn(`${this.dropped} spans were dropped while the collector was slow or away`);
      this.dropped = 0;
      return;
    }
  }

  private async post(body: string): Promise<{ why: string; mayComeAgain: boolean; afterMs?: number } | undefined> {
    try {
      const answer = await fetch(this.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...this.collector.headers },
        body,
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      await answer.body?.cancel();
      if (answer.ok) return undefined;
      const seconds = Number(answer.headers.get('retry-after') ?? Number.NaN);
      const afterMs = seconds >= 0 ? Math.min(seconds * 1_000, MAX_RETRY_MS) : undefined;
      return {
        why: `the collector answers ${answer.status}`,
        mayComeAgain: RETRYABLE.includes(answer.status),
        afterMs,
      };
    } catch (error) {
      const { message, cause } = error as Error;
      return { why: cause instanceof Error ? cause.message : message, mayComeAgain: true };
    }
  }

  /** Ends early when the exporter is closed. */
  private pause(ms: number): Promise<void> {
    return delay(ms, undefined, { ref: false, signal: this.closing.signal }).catch(() => undefined);
  }
}

/** ExportTraceServiceRequest in OTLP's JSON encoding: ids in hex, 64-bit numbers as text. */
const toOtlp = (spans: Span[], resource: Attributes) => ({
  resourceSpans: [
    {
      resource: { attributes: toKeyValues(resource) },
      scopeSpans: [{ scope: { name: 'agent-marketplace' }, spans: spans.map(toOtlpSpan) }],
    },
  ],
});

const toOtlpSpan = (span: Span) => ({
  traceId: span.traceId,
  spanId: span.id,
  parentSpanId: span.parentId,
  flags: span.sampled ? 1 : 0,
  name: span.name,
  kind: span.kind,
  startTimeUnixNano: `${span.startedAt}000`,
  endTimeUnixNano: `${span.endedAt}000`,
  attributes: toKeyValues(span.attributes),
  links: span.links.map(({ traceId, id: spanId }) => ({ traceId, spanId })),
  status: { code: span.hasFailed ? 2 : 0 },
});

const toKeyValues = (attributes: Attributes) =>
  Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined
      ? []
      : [{ key, value: typeof value === 'string' ? { stringValue: value } : { intValue: String(value) } }],
  );
