import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A counter starts with its listing, at 0, and is no news. */
const CHANGES: [table: string, event: string, rows: 'NEW' | 'OLD', news: string][] = [
  ['listings', 'INSERT', 'NEW', `SELECT id, 'listing' FROM changed`],
  ['listings', 'UPDATE', 'NEW', `SELECT id, 'listing' FROM changed`],
  ['listings', 'DELETE', 'OLD', `SELECT id, 'listing' FROM changed`],
  ['listing_popularity', 'INSERT', 'NEW', `SELECT listing_id, 'popularity' FROM changed WHERE completed_calls > 0`],
  ['listing_popularity', 'UPDATE', 'NEW', `SELECT listing_id, 'popularity' FROM changed`],
];

/** Lets the index in each process learn what was committed since it last looked; replaces what search read before. */
export class FollowListings1763700300000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // Told apart by transactions, not by a sequence or a clock: both would be passed over by a commit that comes late.
    await runner.query(`
      CREATE TABLE listing_search_changes (
        xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
        listing_id uuid NOT NULL,
        kind text NOT NULL CHECK (kind IN ('listing', 'popularity')),
        changed_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (xid, listing_id, kind)
      )`);
    for (const [table, event, rows, news] of CHANGES) {
      const name = `${table}_tell_search_of_${event.toLowerCase()}`;
      await runner.query(`
        CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
        BEGIN
          INSERT INTO listing_search_changes (listing_id, kind) ${news} ON CONFLICT DO NOTHING;
          RETURN NULL;
        END $$`);
      await runner.query(`CREATE TRIGGER ${name} AFTER ${event} ON ${table} REFERENCING ${rows} TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION ${name}()`);
    }
    await runner.query('DROP FUNCTION names_resembling');
    await runner.query('DROP INDEX listings_search, listings_name_trigrams, listings_newest, listings_price, listings_category, listing_popularity_most');
    await runner.query('ALTER TABLE listings ALTER COLUMN search SET STATISTICS -1');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE listings ALTER COLUMN search SET STATISTICS 2000');
    await runner.query('CREATE INDEX listing_popularity_most ON listing_popularity (completed_calls DESC, listing_id DESC)');
    await runner.query(`CREATE INDEX listings_category ON listings (category_id, created_at DESC, id DESC) WHERE status = 'active'`);
    await runner.query(`CREATE INDEX listings_price ON listings (price_micros, id) WHERE status = 'active'`);
    await runner.query(`CREATE INDEX listings_newest ON listings (created_at DESC, id DESC) WHERE status = 'active'`);
    await runner.query('CREATE INDEX listings_search ON listings USING gin (search)');
    await runner.query('CREATE INDEX listings_name_trigrams ON listings USING gin (name gin_trgm_ops)');
    await runner.query(`
      CREATE FUNCTION names_resembling(q text) RETURNS SETOF uuid
      LANGUAGE sql STABLE PARALLEL SAFE ROWS 100 SET pg_trgm.word_similarity_threshold = 0.45
      BEGIN ATOMIC
        SELECT id FROM listings WHERE q <% name;
      END`);
    for (const [table, event] of CHANGES) await runner.query(`DROP FUNCTION ${table}_tell_search_of_${event.toLowerCase()} CASCADE`);
    await runner.query('DROP TABLE listing_search_changes');
  }
}
