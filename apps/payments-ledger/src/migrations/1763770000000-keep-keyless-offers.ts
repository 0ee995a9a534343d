import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The sealed terms of offers that are written down when they are paid. */
export class KeepKeylessOffers1763770000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE payments ADD COLUMN keyless_offer text');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE payments DROP COLUMN keyless_offer');
  }
}
