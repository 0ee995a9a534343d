import { Logger } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from './database.js';
import type { PreparedStatement } from './statement.js';

/** SQL for the end of a lease that is taken or renewed now. */
export const LEASE_END = `now() + interval '2500 milliseconds'`;
const RENEW_INTERVAL_MS = 500;

/**
 * Leases on rows that this process works on. They are short, so that another process takes over soon if this one dies.
 * One statement renews all leases while the work continues.
 */
export class Leases {
  private readonly logger = new Logger('Leases');
  /** The fences by row id. */
  private readonly fences = new Map<string, number>();
  private isRenewing = false;

  /** @param renew takes row ids and their fences, and renews the rows that still have that fence. */
  constructor(
    private readonly database: Database,
    private readonly renew: PreparedStatement,
  ) {}

  /** Renews a new lease until `work` has ended, or until the row is leased again with another fence. */
  async during<T>(id: string, fence: number, work: () => Promise<T>): Promise<T> {
    this.fences.set(id, fence);
    if (!this.isRenewing) void this.renewWhileHeld();
    try {
      return await work();
    } finally {
      if (this.fences.get(id) === fence) this.fences.delete(id);
    }
  }

  private async renewWhileHeld(): Promise<void> {
    this.isRenewing = true;
    for (;;) {
      await delay(RENEW_INTERVAL_MS, undefined, { ref: false });
      if (this.fences.size === 0) break;
      await this.database
        .query(this.renew, [[...this.fences.keys()], [...this.fences.values()]])
        .catch((error: unknown) => this.logger.warn(`${this.renew.name} failed: ${String(error)}`));
    }
    this.isRenewing = false;
  }
}
