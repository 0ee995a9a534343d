import { Database, sql } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { reputationConfig, type ReputationConfig } from '../config.js';

const BATCH_SIZE = 1_000;
const MAX_BATCHES = 50;

const prune = sql(
  'account-events.prune',
  `DELETE FROM account_events WHERE (account_id, id) IN (
     SELECT account_id, id FROM account_events WHERE recorded_at < now() - $1 * interval '1 day'
     ORDER BY recorded_at LIMIT ${BATCH_SIZE} FOR UPDATE SKIP LOCKED)
   RETURNING id`,
);

/** Deletes events after `REPUTATION_EVENTS_KEPT_DAYS`, in small batches. Numbers are not reused. */
@Injectable()
export class PruneEvents implements OnApplicationBootstrap {
  constructor(
    private readonly database: Database,
    private readonly jobs: Jobs,
    @Inject(reputationConfig.token) private readonly config: ReputationConfig,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.every('prune-events', this.config.pruneIntervalMs, () => this.run());
  }

  private async run(): Promise<void> {
    for (let batches = 1; batches <= MAX_BATCHES; batches += 1)
      if ((await this.database.query(prune, [this.config.eventsKeptDays])).length < BATCH_SIZE) return;
  }
}
