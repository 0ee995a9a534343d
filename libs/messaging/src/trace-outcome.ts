import type { Span } from '@market/tracing';

/** The outcome of a request that is neither an answer nor a declared refusal: a bug, or a part of the marketplace that is unavailable or too slow. */
const FAILURES = ['failed', 'dependency_unavailable', 'answer_lost', 'deadline_exceeded'];

/** A refusal is an answer; only a failure has its trace kept. */
export function traceOutcome(span: Span | undefined, outcome: string): void {
  span?.set({ outcome });
  if (FAILURES.includes(outcome)) span?.fail(outcome);
}
