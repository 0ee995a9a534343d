import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreateSessions1763710000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE sessions (
        id uuid PRIMARY KEY,
        account_id uuid NOT NULL CONSTRAINT sessions_account REFERENCES accounts (id),
        token_hash bytea NOT NULL CONSTRAINT sessions_hash_is_sha256 CHECK (length(token_hash) = 32),
        created_at timestamptz NOT NULL DEFAULT now(),
        expires_at timestamptz NOT NULL
      )`);
    await runner.query('CREATE UNIQUE INDEX sessions_token_hash ON sessions (token_hash)');
    await runner.query('CREATE INDEX sessions_expires_at ON sessions (expires_at)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE sessions');
  }
}
