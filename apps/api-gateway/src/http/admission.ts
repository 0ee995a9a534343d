/** One more call is let through for so many that were taken, to find out whether the gateway takes more by now. */
const TAKEN_FOR_ONE_MORE = 16;
/** Where the gateway has refused nothing for so long, nothing is held back. */
const FORGOTTEN_AFTER_MS = 1_000;

/**
 * While the gateway refuses calls because it has too many, the edge lets through only as many as were under way when it did, and refuses the
 * others before anything is done for them: a refusal must cost next to nothing where there are ten times as many calls as can be carried.
 */
export class Admission {
  private inFlight = 0;
  private limit = Infinity;
  private refusedAt = -Infinity;

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** @returns whether a call is let through; then its end is to be told. */
  begin(): boolean {
    if (this.isFull()) return false;
    this.inFlight += 1;
    return true;
  }

  /** Whether one more call would not be let through. */
  isFull(): boolean {
    if (this.limit !== Infinity && this.now() - this.refusedAt >= FORGOTTEN_AFTER_MS) this.limit = Infinity;
    return this.inFlight + 1 > this.limit;
  }

  /** @param wasTaken false where the gateway had too many. */
  end(wasTaken: boolean): void {
    this.inFlight -= 1;
    if (wasTaken) this.limit += 1 / TAKEN_FOR_ONE_MORE;
    else {
      // One at least, or nobody would find out that there is room again.
      this.limit = Math.max(1, Math.min(this.limit, this.inFlight));
      this.refusedAt = this.now();
    }
  }
}
