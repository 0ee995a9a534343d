import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A wallet that pays for a call without a key opens an account; who holds the wallet may register it later. */
export class LetPayersOpenAccounts1763730000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE accounts ADD COLUMN registered_at timestamptz DEFAULT now()');
    await runner.query('UPDATE accounts SET registered_at = created_at');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE accounts DROP COLUMN registered_at');
  }
}
