import type { Reserve } from './facilitator.js';

/**
 * No sale is made with less than this, because settlements that were promised before need it.
 */
const LEAST_SETTLEMENTS = 5;

/** What the settling accounts of this process had when they were last read. */
export class Reserves {
  private readonly low = new Map<string, Reserve>();

  note(reserves: Reserve[]): Reserve[] {
    for (const reserve of reserves)
      if (reserve.settlements < LEAST_SETTLEMENTS) this.low.set(reserve.network, reserve);
      else this.low.delete(reserve.network);
    return reserves;
  }

  problemOn(network: string): string | undefined {
    const reserve = this.low.get(network);
    return (
      reserve &&
      `the account that pays for settlements, ${reserve.account}, has no coins left for them (${reserve.settlements} settlements)`
    );
  }
}
