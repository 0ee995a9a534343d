/** The limit grows by one for this many accepted calls, to find out whether the gateway accepts more again. */
const TAKEN_FOR_ONE_MORE = 16;
/** The limit ends after this time without a refusal by the gateway. */
const FORGOTTEN_AFTER_MS = 1_000;

/**
 * Limits calls while the gateway refuses some because it has too many. The limit is the number of calls that were in
 * progress at the last refusal. The edge refuses further calls immediately, because a refusal must be cheap when there
 * are ten times as many calls as the gateway can handle.
 */
export class Admission {
  private inFlight = 0;
  private limit = Infinity;
  private refusedAt = -Infinity;

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** @returns whether the call is admitted; if so, the caller must call `end`. */
  begin(): boolean {
    if (this.isFull()) return false;
    this.inFlight += 1;
    return true;
  }

  /** Whether another call would be refused. */
  isFull(): boolean {
    if (this.limit !== Infinity && this.now() - this.refusedAt >= FORGOTTEN_AFTER_MS) this.limit = Infinity;
    return this.inFlight + 1 > this.limit;
  }

  /** @param wasTaken false if the gateway refused the call because it had too many. */
  end(wasTaken: boolean): void {
    this.inFlight -= 1;
    if (wasTaken) this.limit += 1 / TAKEN_FOR_ONE_MORE;
    else {
      // At least one call must be admitted, to find out when the gateway accepts calls again.
      this.limit = Math.max(1, Math.min(this.limit, this.inFlight));
      this.refusedAt = this.now();
    }
  }
}
