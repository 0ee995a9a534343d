/** Shorter than the gateway takes to finish what it has in hand, so that it does not run out of work. */
const PAUSE_MS = 50;

/**
 * When the gateway has refused a call because it has too many, further ones are refused at the edge for a moment, before anything is done for
 * them: a refusal must cost next to nothing where there are ten times as many calls as can be carried.
 */
export class Backpressure {
  private until = 0;

  constructor(private readonly now: () => number = () => performance.now()) {}

  get isOn(): boolean {
    return this.now() < this.until;
  }

  /** What was sent before the first refusal came may be refused, too, and does not make the pause longer. */
  refused(): void {
    if (!this.isOn) this.until = this.now() + PAUSE_MS;
  }
}
