import type { MigrationInterface, QueryRunner } from 'typeorm';

/** At which price of the currency an offer was made, and of when that price was. Null for offers made before; the time also where a price has none. */
export class KeepUnitPrices1763760000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE payments ADD COLUMN unit_price_micros bigint CHECK (unit_price_micros > 0), ADD COLUMN priced_at timestamptz');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE payments DROP COLUMN unit_price_micros, DROP COLUMN priced_at');
  }
}
