import type { Span } from '@market/tracing';

/** What became of a request that nobody decided: a bug, or a part of the marketplace that is away or too slow. */
const FAILURES = ['failed', 'dependency_unavailable', 'answer_lost', 'deadline_exceeded'];

/** A refusal is an answer; only a failure has its trace kept. */
export function traceOutcome(span: Span | undefined, outcome: string): void {
  span?.set({ outcome });
  if (FAILURES.includes(outcome)) span?.fail(outcome);
}
