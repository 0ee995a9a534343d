import type { MigrationInterface, QueryRunner } from 'typeorm';
import { SHOWN, ShowListings1763800000000 } from './1763800000000-show-listings.js';

/**
 * The index of a process keeps listings as search shows them: in the database they are once again. What was a table is a view, which
 * processes of the version before go on reading until they are replaced.
 */
export class ShowListingsFromMemory1763900000000 implements MigrationInterface {
  private readonly kept = new ShowListings1763800000000();

  async up(runner: QueryRunner): Promise<void> {
    await this.kept.down(runner);
    await runner.query(`CREATE VIEW shown_listings (listing_id, json) AS ${SHOWN}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP VIEW shown_listings');
    await this.kept.up(runner);
  }
}
