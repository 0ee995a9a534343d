import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What operators and limits need to know of listings, and what reputation tells of them. */
export class WatchOverListings1763700100000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE listings ADD COLUMN held_as text CHECK (held_as IN ('draft', 'active', 'withdrawn'))`);
    await runner.query(`UPDATE listings SET held_as = 'active' WHERE suspended_by = 'operator'`);
    await runner.query(`ALTER TABLE listings ADD CONSTRAINT listings_held_as CHECK ((suspended_by IS NOT DISTINCT FROM 'operator') = (held_as IS NOT NULL))`);
    // One seller's listings, newest first: counted for its limits. The older index knew the sellers alone.
    await runner.query('CREATE INDEX listings_of_provider ON listings (provider_id, created_at DESC)');
    await runner.query('DROP INDEX listings_provider');
    // What a name reads as: without case, accents, spaces and punctuation, letters that look alike taken for the same.
    // The pairs of translate() are those of listings/domain/lookalikes.ts, and digits that read as letters.
    await runner.query(String.raw`
      CREATE FUNCTION name_reads_as(name text) RETURNS text
      LANGUAGE sql IMMUTABLE PARALLEL SAFE
      RETURN regexp_replace(
        lower(normalize(translate(normalize(name, NFKC),
          'АВЕЅІЈКМНОРСТХУԚԜаеѕіјорсухһԁԛԝѵΑΒΕΖΗΙΚΜΝΟΡΤΥΧανικορυγօոսհցɡɑıǃ01',
          'ABESIJKMHOPCTXYQWaesijopcyxhdqwvABEZHIKMNOPTYXavikopuyonuhggailol'), NFKD)),
        '[\s\u0021-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u007e\u00ad\u0300-\u036f\u200b-\u206f\ufe00-\ufe0f\ufeff]', '', 'g')`);
    await runner.query(`CREATE INDEX listings_name_reads_as ON listings (name_reads_as(name))`);
    // No reference to listings: a rating may be told of when its listing is gone.
    await runner.query(`
      CREATE TABLE listing_ratings (
        listing_id uuid PRIMARY KEY,
        review_count int NOT NULL,
        accuracy float8 NOT NULL,
        reliability float8 NOT NULL,
        value float8 NOT NULL
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE listing_ratings');
    await runner.query('DROP INDEX listings_name_reads_as');
    await runner.query('DROP FUNCTION name_reads_as');
    await runner.query('CREATE INDEX listings_provider ON listings (provider_id)');
    await runner.query('DROP INDEX listings_of_provider');
    await runner.query('ALTER TABLE listings DROP CONSTRAINT listings_held_as');
    await runner.query('ALTER TABLE listings DROP COLUMN held_as');
  }
}
