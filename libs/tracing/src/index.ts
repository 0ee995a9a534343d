export { Span, SpanKind } from './span.js';
export * from './tracing.js';
