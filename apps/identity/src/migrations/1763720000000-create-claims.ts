import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreateClaims1763720000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // The primary key makes the first claim final.
    await runner.query(`
      CREATE TABLE claims (
        agent_id uuid PRIMARY KEY CONSTRAINT claims_agent REFERENCES accounts (id),
        human_id uuid NOT NULL CONSTRAINT claims_human REFERENCES accounts (id),
        claimed_at timestamptz NOT NULL DEFAULT now()
      )`);
    await runner.query('CREATE INDEX claims_human_id ON claims (human_id)');
    await runner.query('ALTER TABLE challenges ADD COLUMN human_id uuid');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE challenges DROP COLUMN human_id');
    await runner.query('DROP TABLE claims');
  }
}
