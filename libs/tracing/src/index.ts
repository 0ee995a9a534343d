export { Span, SpanKind, type Attributes } from './span.js';
export * from './tracing.js';
