import { Database, sql } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';

const INTERVAL_MS = 10_000;

// Rows that another process is updating are skipped, because that process writes about the same time.
const touch = sql(
  'api-keys.touch',
  `UPDATE api_keys SET last_used_at = now()
   WHERE id IN (
     SELECT id FROM api_keys
     WHERE id = ANY($1::uuid[]) AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')
     FOR UPDATE SKIP LOCKED)`,
);

/**
 * Updates `last_used_at` with a precision of a minute, so that a busy key is written once a minute instead of at every
 * call.
 */
@Injectable()
export class RecordKeyUse implements OnModuleInit, OnModuleDestroy {
  private used = new Set<string>();

  constructor(
    private readonly database: Database,
    private readonly jobs: Jobs,
  ) {}

  onModuleInit(): void {
    this.jobs.every('record key use', INTERVAL_MS, () => this.run());
  }

  async onModuleDestroy(): Promise<void> {
    // A failure to store the last use must not prevent the process from stopping.
    await this.run().catch(() => undefined);
  }

  note(keyId: string): void {
    this.used.add(keyId);
  }

  async run(): Promise<void> {
    if (this.used.size === 0) return;
    const keyIds = [...this.used];
    this.used = new Set();
    await this.database.query(touch, [keyIds]);
  }
}
