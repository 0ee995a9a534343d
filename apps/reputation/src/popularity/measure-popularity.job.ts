import { listingPopularityMeasured } from '@market/contracts/reputation';
import { newRequestContext } from '@market/messaging';
import { batchSql, Database, Outbox, sql } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { reputationConfig, type ReputationConfig } from '../config.js';
import { ScoreEvidence } from '../score/score-evidence.js';
import { popularityOf } from './popularity.js';

const MAX_SELLERS = 50;
/** More than a score uses: a listing that is bought less than another of its seller's is not to be lost. */
const MAX_TRADES = 2_000;

/** One process measures at a time, so that a figure is never replaced by an earlier one. */
const isAlone = sql(
  'popularity.is-alone',
  `SELECT pg_try_advisory_xact_lock(hashtextextended('reputation popularity', 0)) AS alone`,
);
const takeDue = sql('popularity.due', `SELECT DISTINCT seller_id FROM popularity_due LIMIT 1`);
const remove = sql('popularity.done', 'DELETE FROM popularity_due WHERE seller_id = $1');
const keep = batchSql(
  `INSERT INTO listing_popularity AS known (listing_id, version, popularity)
   SELECT listing_id, 1, popularity
   FROM jsonb_to_recordset($1) AS measured (listing_id uuid, popularity int) ORDER BY listing_id
   ON CONFLICT (listing_id) DO UPDATE SET version = known.version + 1, popularity = excluded.popularity
   WHERE known.popularity <> excluded.popularity
   RETURNING listing_id AS "listingId", version, popularity`,
);

/** Measures the popularity of the listings of sellers that sold something or whose fees arrived. */
@Injectable()
export class MeasurePopularity implements OnApplicationBootstrap {
  constructor(
    private readonly database: Database,
    private readonly outbox: Outbox,
    private readonly evidence: ScoreEvidence,
    private readonly jobs: Jobs,
    @Inject(reputationConfig.token) private readonly config: ReputationConfig,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.every('measure-popularity', this.config.popularityIntervalMs, () => this.run());
  }

  private async run(): Promise<void> {
    for (let sellers = 0; sellers < MAX_SELLERS; sellers += 1) if (!(await this.measureNext())) return;
  }

  /** @returns whether there was a seller to measure. */
  private measureNext(): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const [lock] = await tx.query<{ alone: boolean }>(isAlone);
      const [due] = lock!.alone ? await tx.query<{ seller_id: string }>(takeDue) : [];
      if (!due) return false;
      // First removed, then read: what is added in between is due again.
      await tx.query(remove, [due.seller_id]);
      const found = await this.evidence.of(due.seller_id, MAX_TRADES);
      if (!found) return true;
      const measured = popularityOf(found.evidence.listings, found.evidence);
      const changed = await tx.query<{ listingId: string; version: number; popularity: number }>(keep, [
        JSON.stringify(measured),
      ]);
      const context = newRequestContext();
      this.outbox.addAll(
        tx,
        changed.map((payload) => ({ contract: listingPopularityMeasured, context, payload })),
      );
      return true;
    });
  }
}
