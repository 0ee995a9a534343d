import { CheckBudgets, sellerKey, type CheckedFor } from './check-budgets.js';
import type { Task, Verdict } from './check-worker.js';

/** Sellers of whom a check waits for a thread; of more, those that have used most time are refused. */
const MAX_WAITING = 64;
const BUSY_MS = 1_000;

/** A check is beyond the time of its caller, of its seller or of all. */
export class ChecksBusy extends Error {
  readonly retryAfterSeconds: number;

  constructor(waitMs: number) {
    super();
    this.retryAfterSeconds = Math.ceil(waitMs / 1_000);
  }
}

interface Waiting {
  account: CheckedFor;
  /** Takes a thread until the promise is settled. */
  start(): Promise<void>;
  refuse(error: ChecksBusy): void;
}

/**
 * Gives the threads to sellers: to the one that has used least time first, and to none for two checks at once. So a check
 * waits for those that run, and for no queue of another seller.
 */
export class FairChecks {
  private readonly budgets: CheckBudgets;
  /** The last check of each seller that is under way or waits. */
  private readonly turns = new Map<string, Promise<unknown>>();
  private readonly waiting: Waiting[] = [];
  private running = 0;

  constructor(
    private readonly execute: (task: Task) => Promise<Verdict>,
    private readonly threads: number,
    now?: () => number,
  ) {
    this.budgets = new CheckBudgets(threads, now);
  }

  /** @throws ChecksBusy */
  async run(task: Task, account: CheckedFor): Promise<Verdict> {
    const key = sellerKey(account);
    const check = (): Promise<Verdict> => this.queue(task, account);
    const turn = (this.turns.get(key) ?? Promise.resolve()).then(check, check);
    this.turns.set(key, turn);
    try {
      return await turn;
    } finally {
      if (this.turns.get(key) === turn) this.turns.delete(key);
    }
  }

  private async queue(task: Task, account: CheckedFor): Promise<Verdict> {
    const waitMs = this.budgets.waitMs(account);
    if (waitMs > 0) throw new ChecksBusy(waitMs);
    return new Promise((resolve, refuse) => {
      const start = (): Promise<void> => this.executeFor(account, task).then(resolve, refuse);
      this.waiting.push({ account, start, refuse });
      this.startNext();
      if (this.waiting.length > MAX_WAITING) this.take(-1)?.refuse(new ChecksBusy(BUSY_MS));
    });
  }

  private startNext(): void {
    while (this.running < this.threads) {
      const next = this.take(0);
      if (!next) return;
      // Others may have used the time of all while it waited.
      const waitMs = this.budgets.waitMs(next.account);
      if (waitMs > 0) {
        next.refuse(new ChecksBusy(waitMs));
        continue;
      }
      this.running += 1;
      void next.start().finally(() => {
        this.running -= 1;
        this.startNext();
      });
    }
  }

  /** Removes a check from those that wait, in the order of the time that their sellers have used. */
  private take(position: 0 | -1): Waiting | undefined {
    const ordered = this.waiting.toSorted((a, b) => this.budgets.usedBy(a.account) - this.budgets.usedBy(b.account));
    const taken = ordered.at(position);
    if (taken) this.waiting.splice(this.waiting.indexOf(taken), 1);
    return taken;
  }

  private async executeFor(account: CheckedFor, task: Task): Promise<Verdict> {
    const verdict = await this.execute(task);
    this.budgets.spend(account, verdict.ms);
    return verdict;
  }
}
