import type { Span } from '@market/tracing';

/**
 * The outcomes that are neither an answer nor a declared refusal: a bug, or a part of the marketplace that is
 * unavailable or too slow.
 */
const FAILURES = ['failed', 'dependency_unavailable', 'answer_lost', 'deadline_exceeded'];

/** A refusal is an answer. Only a failure causes its trace to be kept. */
export function traceOutcome(span: Span | undefined, outcome: string): void {
  span?.set({ outcome });
  if (FAILURES.includes(outcome)) span?.fail(outcome);
}
