import { LRUCache } from 'lru-cache';

/**
 * On whose account a check is. Bodies of calls and changes of listings have budgets of their own: a seller must be able
 * to replace a schema on which strangers have spent its time for calls.
 */
export type CheckedFor =
  | { purpose: 'listings'; sellerId: string }
  /** All callers without a key are one caller. */
  | { purpose: 'calls'; sellerId: string; callerId: string | undefined };

/** A thread's time, divided by `share`, with bursts. */
interface Budget {
  key: string;
  share: number;
  burstMs: number;
}

/** A caller may use a twentieth of a thread's time for checks of one seller's listings, with bursts of half a second. */
const CALLER = { share: 20, burstMs: 500 };
/** A seller, and all callers of its listings together, may each use a fifth of it, with bursts of two seconds. */
const SELLER = { share: 5, burstMs: 2_000 };
/** A seller gets a fiftieth of it, with bursts of half a second, even where others have used up what all may. */
const RESERVED = { share: 50, burstMs: 500 };
/** All sellers together may use half of the time of all threads, with bursts of four seconds. */
const ALL = { share: 2, burstMs: 4_000 };

const MAX_KEPT = 20_000;

/** Counts the time of checks by caller, by seller and in total, so that slow schemas take no time from other sellers. */
export class CheckBudgets {
  /** The time at which the used time is available again. */
  private readonly spentUntil = new LRUCache<string, number>({ max: MAX_KEPT });
  private readonly all: Budget;

  constructor(
    threads: number,
    private readonly now = (): number => performance.now(),
  ) {
    this.all = { key: 'all', share: ALL.share / threads, burstMs: ALL.burstMs * threads };
  }

  /** Returns after how many milliseconds a check may run; 0 if it may now. */
  waitMs(account: CheckedFor): number {
    const shared = Math.min(this.excessOf(this.all), this.excessOf(reservedFor(account)));
    return Math.max(0, shared, ...ownOf(account).map((budget) => this.excessOf(budget)));
  }

  spend(account: CheckedFor, ms: number): void {
    for (const { key, share } of [...ownOf(account), reservedFor(account), this.all])
      this.spentUntil.set(key, Math.max(this.spentUntil.get(key) ?? 0, this.now()) + share * ms);
  }

  /** Is the greater the more time a seller has used of late. */
  usedBy(account: CheckedFor): number {
    return Math.max(0, this.debtOf(reservedFor(account)));
  }

  private excessOf(budget: Budget): number {
    return this.debtOf(budget) - budget.burstMs * budget.share;
  }

  private debtOf({ key }: Budget): number {
    return (this.spentUntil.get(key) ?? 0) - this.now();
  }
}

export const sellerKey = ({ purpose, sellerId }: CheckedFor): string => `${purpose} ${sellerId}`;

const reservedFor = (account: CheckedFor): Budget => ({ key: `reserved ${sellerKey(account)}`, ...RESERVED });

function ownOf(account: CheckedFor): Budget[] {
  const seller = { key: sellerKey(account), ...SELLER };
  return account.purpose === 'listings'
    ? [seller]
    : [seller, { key: `${seller.key} ${account.callerId ?? ''}`, ...CALLER }];
}
