import { Database, sql } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { gatewayConfig, type GatewayConfig } from '../config.js';
import { Contents } from '../contents/contents.js';

const BATCH_SIZE = 1_000;
/** A file may have many chunks. */
const CONTENTS_BATCH_SIZE = 20;
const MAX_BATCHES = 50;

const deleteResults = sql(
  'gateway-requests.delete-results',
  `WITH pruned AS (
     UPDATE gateway_requests SET result_json = NULL WHERE id IN (
       SELECT id FROM gateway_requests
       WHERE result_json IS NOT NULL AND (settled_at IS NOT NULL OR NOT billable)
         AND completed_at < now() - $1 * interval '1 day'
       ORDER BY completed_at LIMIT ${BATCH_SIZE} FOR UPDATE SKIP LOCKED)
     RETURNING 1)
   SELECT count(*)::int AS count FROM pruned`,
);
/** A quote whose offer is over and that was neither paid nor tried. A payment that comes late is still the ledger's. */
const deleteQuotes = sql(
  'gateway-requests.delete-quotes',
  `WITH pruned AS (
     DELETE FROM gateway_requests WHERE id IN (
       SELECT id FROM gateway_requests
       WHERE status = 'payment_required' AND completed_at IS NULL
         AND offer_expires_at < now() - $1 * interval '1 hour'
       ORDER BY offer_expires_at LIMIT ${BATCH_SIZE} FOR UPDATE SKIP LOCKED)
     RETURNING 1)
   SELECT count(*)::int AS count FROM pruned`,
);
/** Ids are UUIDv7, which begin with the time, so the oldest calls are first in the primary key. */
const deleteCalls = sql(
  'gateway-requests.delete-calls',
  `WITH pruned AS (
     DELETE FROM gateway_requests WHERE id IN (
       SELECT id FROM gateway_requests
       WHERE id < (lpad(to_hex((extract(epoch FROM now() - $1 * interval '1 day') * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
         AND result_json IS NULL
       ORDER BY id LIMIT ${BATCH_SIZE} FOR UPDATE SKIP LOCKED)
     RETURNING 1)
   SELECT count(*)::int AS count FROM pruned`,
);

/** What sellers said of jobs whose calls are gone, and the endpoints that were kept for jobs of removed listings. */
const deleteJobs = sql(
  'jobs.delete-old',
  `WITH removed AS (
     DELETE FROM endpoints WHERE removed_at < now() - interval '25 hours'), pruned AS (
     DELETE FROM jobs WHERE call_id IN (
       SELECT call_id FROM jobs WHERE accepted_at < now() - $1 * interval '1 day'
       ORDER BY accepted_at LIMIT ${BATCH_SIZE} FOR UPDATE SKIP LOCKED)
     RETURNING 1)
   SELECT count(*)::int AS count FROM pruned`,
);

/** What was sent to webhooks, those that are deleted among them. */
const deleteDeliveries = sql(
  'webhook-deliveries.delete-old',
  `WITH pruned AS (
     DELETE FROM webhook_deliveries WHERE id IN (
       SELECT id FROM webhook_deliveries WHERE created_at < now() - $1 * interval '1 day'
       ORDER BY created_at LIMIT ${BATCH_SIZE} FOR UPDATE SKIP LOCKED)
     RETURNING 1)
   SELECT count(*)::int AS count FROM pruned`,
);

/**
 * Deletes quotes that came to nothing after `GATEWAY_QUOTES_KEPT_HOURS`, the results of delivered calls after
 * `GATEWAY_RESULTS_KEPT_DAYS`, files of free calls after a day, calls after `GATEWAY_HISTORY_KEPT_DAYS`, and deliveries
 * to webhooks after `GATEWAY_WEBHOOK_DELIVERIES_KEPT_DAYS`, in small batches. Results that are not settled yet are
 * kept. The ledger keeps charges permanently, so a retry after the result was deleted is still answered as delivered.
 */
@Injectable()
export class PruneHistory implements OnApplicationBootstrap {
  constructor(
    private readonly database: Database,
    private readonly contents: Contents,
    private readonly jobs: Jobs,
    @Inject(gatewayConfig.token) private readonly config: GatewayConfig,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.every('prune-history', this.config.pruneIntervalMs, () => this.run());
  }

  async run(): Promise<void> {
    await this.inBatches(deleteQuotes, this.config.quotesKeptHours);
    await this.inBatches(deleteResults, this.config.resultsKeptDays);
    await this.inBatches(deleteCalls, this.config.historyKeptDays);
    await this.inBatches(deleteJobs, this.config.historyKeptDays);
    await this.inBatches(deleteDeliveries, this.config.webhookDeliveriesKeptDays);
    for (let batch = 1; batch <= MAX_BATCHES; batch += 1)
      if ((await this.contents.deleteExpired(CONTENTS_BATCH_SIZE)) < CONTENTS_BATCH_SIZE) return;
  }

  private async inBatches(statement: typeof deleteCalls, value: number): Promise<void> {
    for (let batch = 1; batch <= MAX_BATCHES; batch += 1) {
      const [pruned] = await this.database.query<{ count: number }>(statement, [value]);
      if (pruned!.count < BATCH_SIZE) return;
    }
  }
}
