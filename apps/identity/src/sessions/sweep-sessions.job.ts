import { Database, sql } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Injectable, type OnModuleInit } from '@nestjs/common';

const INTERVAL_MS = 60_000;
const BATCH = 5_000;

const deleteExpired = sql(
  'sessions.delete-expired',
  'DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE expires_at < now() LIMIT $1 FOR UPDATE SKIP LOCKED) RETURNING id',
);

/** Deletes expired sessions. */
@Injectable()
export class SweepSessions implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly jobs: Jobs,
  ) {}

  onModuleInit(): void {
    this.jobs.every('sweep sessions', INTERVAL_MS, () => this.run());
  }

  async run(): Promise<void> {
    while ((await this.database.query(deleteExpired, [BATCH])).length === BATCH);
  }
}
