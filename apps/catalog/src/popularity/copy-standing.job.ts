import { Database, sql } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Injectable, type OnModuleInit } from '@nestjs/common';

const INTERVAL_MS = 1_000;
const BATCH_SIZE = 500;

// Listings that others change are left for the next time, and are locked before what belongs to them.
const copy = sql(
  'listings.copy-standing',
  `WITH changed AS (
     SELECT listing_id, standing FROM listing_popularity WHERE standing <> known_standing ORDER BY listing_id LIMIT ${BATCH_SIZE}
   ), locked AS (
     SELECT l.id, changed.standing FROM changed JOIN listings l ON l.id = listing_id ORDER BY l.id FOR UPDATE OF l SKIP LOCKED
   )
   UPDATE listings l SET standing = locked.standing FROM locked WHERE l.id = locked.id RETURNING l.id, l.standing`,
);
const keepKnown = sql(
  'listing-popularity.keep-known-standing',
  `UPDATE listing_popularity SET known_standing = copied.standing
   FROM unnest($1::uuid[], $2::smallint[]) AS copied (id, standing) WHERE listing_id = copied.id`,
);

/** Copies the standing of listings to where searches read it with the match, in batches and apart from what changes it. */
@Injectable()
export class CopyStanding implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly jobs: Jobs,
  ) {}

  onModuleInit(): void {
    this.jobs.every('copy the standing of listings', INTERVAL_MS, () => this.run());
  }

  async run(): Promise<void> {
    let copied: number;
    do copied = await this.copySome();
    while (copied === BATCH_SIZE);
  }

  private copySome(): Promise<number> {
    return this.database.transaction(async (tx) => {
      const rows = await tx.query<{ id: string; standing: number }>(copy);
      if (rows.length > 0) await tx.query(keepKnown, [rows.map(({ id }) => id), rows.map(({ standing }) => standing)]);
      return rows.length;
    });
  }
}
