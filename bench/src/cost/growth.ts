import type { RunningMarketplace } from '@market/testing';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import pg from 'pg';
import { MARKET_ADMIN } from '../market-admin.js';
import { serversNamed, timesOf, usedSince } from './processor-time.js';

/** What a paid call leaves for good, by table. */
const FOR_GOOD = [
  'payments_ledger.payments',
  'payments_ledger.journal_transactions',
  'payments_ledger.postings',
  'reputation.call_facts',
];

/** What calls write, what they leave for good, and what it costs to verify that. */
export class Growth {
  private constructor(
    private readonly databaseUrl: string,
    private readonly database: pg.Client,
  ) {}

  static async of({ databaseUrl }: RunningMarketplace): Promise<Growth> {
    const database = new pg.Client({ connectionString: databaseUrl });
    await database.connect();
    return new Growth(databaseUrl, database);
  }

  /** The bytes of write-ahead log that there ever were. */
  async wal(): Promise<number> {
    const { rows } = await this.database.query<{ bytes: string }>(
      "SELECT pg_current_wal_insert_lsn() - '0/0' AS bytes",
    );
    return Number(rows[0]!.bytes);
  }

  async print(): Promise<void> {
    const [{ calls }] = (
      await this.database.query<{ calls: number }>(
        "SELECT count(*)::int AS calls FROM payments_ledger.journal_transactions WHERE reason = 'call_completed'",
      )
    ).rows as [{ calls: number }];
    const before = timesOf(serversNamed('postgres'));
    const used = new Map(before);
    // The command's connections end with it.
    const look = setInterval(() => {
      for (const [pid, ms] of timesOf(serversNamed('postgres'))) used.set(pid, ms);
    }, 50);
    const { stdout } = await promisify(execFile)(process.execPath, [MARKET_ADMIN, 'books', 'verify', '--full'], {
      env: {
        ...process.env,
        DATABASE_URL: this.databaseUrl,
        PAYMENTS_LEDGER_SIGNING_KEYS: Buffer.alloc(32, 1).toString('base64'),
        LOG_LEVEL: 'fatal',
      },
    });
    clearInterval(look);
    const verified = usedSince(before, used);
    const sizes: string[] = [];
    let sum = 0;
    for (const table of FOR_GOOD) {
      await this.database.query(`VACUUM FULL ${table}`);
      const { rows } = await this.database.query<{ bytes: string }>('SELECT pg_total_relation_size($1) AS bytes', [
        table,
      ]);
      sum += Number(rows[0]!.bytes);
      sizes.push(`${table} ${(Number(rows[0]!.bytes) / calls).toFixed(0)}`);
    }
    console.log(
      `\n${stdout.trim()}: ${((verified / calls) * 100).toFixed(2)} s of PostgreSQL for 100,000 of ${calls} calls`,
    );
    console.log(`bytes for good a call, freshly packed: ${(sum / calls).toFixed(0)} (${sizes.join(', ')})`);
  }

  end(): Promise<void> {
    return this.database.end();
  }
}
