import type { WorkingCall } from './types.js';

/** What is known of a call whose seller works on it. */
export interface JobState {
  requestId: string;
  /** From 0 to 100; null until the seller has said it. */
  percent: number | null;
  message: string | null;
  /** What is not delivered by then costs nothing. */
  deadline: Date;
}

export const jobStateOf = ({ request_id, percent, message, deadline }: WorkingCall): JobState => ({
  requestId: request_id,
  percent: percent ?? null,
  message: message ?? null,
  deadline: new Date(deadline),
});

/**
 * A call that its seller works on: `for await (const { percent, message } of job)` gives what it says until it has
 * delivered, and `result()` what it has delivered. Whoever stops waiting has bought it; `cancel()` asks the seller to stop.
 */
export class CallJob<Result> {
  /** Null for a seller that has answered at once. */
  readonly requestId: string | null;
  readonly #states: AsyncGenerator<JobState, Result, undefined>;
  readonly #cancel: (requestId: string) => Promise<unknown>;
  #result: Result | undefined;

  constructor(
    first: JobState | null,
    states: AsyncGenerator<JobState, Result, undefined>,
    cancel: (requestId: string) => Promise<unknown>,
  ) {
    this.requestId = first?.requestId ?? null;
    this.#states = states;
    this.#cancel = cancel;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<JobState, void, undefined> {
    while (!this.#result) {
      const { value, done } = await this.#states.next();
      if (done) this.#result = value;
      else yield value;
    }
  }

  /** Waits for the delivery, and returns what became of the call. */
  async result(): Promise<Result> {
    for await (const _ of this);
    return this.#result!;
  }

  /** Asks the seller to stop. Nothing is owed back unless it agrees: `result()` says what became of the call. */
  async cancel(): Promise<void> {
    if (this.requestId !== null) await this.#cancel(this.requestId);
  }
}
