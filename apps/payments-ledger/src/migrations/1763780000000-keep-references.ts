import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What a transfer must name where many offers are paid at one address, null where an offer has one of its own; and a transaction that names it and pays none of them. */
export class KeepReferences1763780000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE payments ADD COLUMN reference text, ADD COLUMN unclear_transaction text');
    await runner.query('CREATE UNIQUE INDEX payments_reference ON payments (reference) WHERE reference IS NOT NULL');
    await runner.query('CREATE INDEX payments_unclear ON payments (id) WHERE unclear_transaction IS NOT NULL');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE payments DROP COLUMN unclear_transaction, DROP COLUMN reference');
  }
}
