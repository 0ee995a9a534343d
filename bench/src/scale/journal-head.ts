import type { RunningMarketplace } from '@market/testing';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';

const LOOK_EVERY_MS = 10;

/**
 * Of the sessions that have begun to write the journal's head and have not ended their transaction, which keep the
 * table's lock, one has the row, and those that wait for it say so.
 */
const LOOK = `SELECT count(*)::int AS sessions, count(*) FILTER (WHERE a.wait_event_type = 'Lock')::int AS waiting
  FROM pg_locks l JOIN pg_stat_activity a USING (pid)
  WHERE l.relation = 'payments_ledger.journal_head'::regclass AND l.mode = 'RowExclusiveLock' AND l.granted`;

export interface HeadUse {
  /** The number of transactions in which settlements were charged together. */
  groups: number;
  /** The share of time in which the head was locked. */
  heldShare: number;
  /** The average number of sessions that waited for it. */
  waiting: number;
}

/** Samples a hundred times a second which sessions hold or wait for the lock of the journal's head, directly from PostgreSQL. */
export class JournalHead {
  private looks = 0;
  private held = 0;
  private waiting = 0;
  private hasEnded = false;
  private readonly watching: Promise<void>;

  private constructor(
    private readonly market: RunningMarketplace,
    private readonly database: pg.Client,
    private readonly groupsBefore: number,
  ) {
    this.watching = this.look();
  }

  static async watch(market: RunningMarketplace): Promise<JournalHead> {
    const database = new pg.Client({ connectionString: market.databaseUrl });
    await database.connect();
    return new JournalHead(market, database, await groupsOf(market));
  }

  async end(): Promise<HeadUse> {
    this.hasEnded = true;
    await this.watching;
    await this.database.end();
    return {
      groups: (await groupsOf(this.market)) - this.groupsBefore,
      heldShare: this.held / this.looks,
      waiting: this.waiting / this.looks,
    };
  }

  private async look(): Promise<void> {
    while (!this.hasEnded) {
      const { rows } = await this.database.query<{ sessions: number; waiting: number }>({ name: 'look', text: LOOK });
      const { sessions, waiting } = rows[0]!;
      this.looks += 1;
      this.waiting += waiting;
      if (sessions > waiting) this.held += 1;
      await delay(LOOK_EVERY_MS);
    }
  }
}

/** How often the ledger's processes have locked the head, by their metrics. */
async function groupsOf({ processes, internalUrl }: RunningMarketplace): Promise<number> {
  const counts = await Promise.all(
    processes
      .filter((name) => name.startsWith('payments-ledger'))
      .map(async (name) => {
        const metrics = await (await fetch(`${internalUrl(name)}/metrics`)).text();
        const [, count] =
          /^db_client_operation_duration_seconds_count\{[^}]*"journal\.write"[^}]*\} (\d+)$/m.exec(metrics) ?? [];
        return Number(count ?? 0);
      }),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}
