import type { MigrationInterface, QueryRunner } from 'typeorm';
import { ShowListings1763800000000 } from './1763800000000-show-listings.js';

/** The index of a process keeps listings as search shows them: they are in the database once again. */
export class ShowListingsFromMemory1763900000000 implements MigrationInterface {
  private readonly kept = new ShowListings1763800000000();

  up(runner: QueryRunner): Promise<void> {
    return this.kept.down(runner);
  }

  down(runner: QueryRunner): Promise<void> {
    return this.kept.up(runner);
  }
}
