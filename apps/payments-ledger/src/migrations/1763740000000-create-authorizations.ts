import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Signed payments (x402 `exact`): held while the seller is called, settled when it has answered. */
export class CreateAuthorizations1763740000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE authorizations (
        id uuid PRIMARY KEY,
        payment_id uuid NOT NULL REFERENCES payments (id) ON DELETE CASCADE,
        state text NOT NULL CHECK (state IN ('held', 'settling', 'settled', 'refused', 'lapsed')),
        network text NOT NULL,
        asset text NOT NULL,
        payer text NOT NULL,
        nonce text NOT NULL,
        valid_before timestamptz NOT NULL,
        payload jsonb NOT NULL,
        settlement jsonb,
        attempts int NOT NULL DEFAULT 0,
        tried_at timestamptz,
        reason text,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT authorizations_nonce_once UNIQUE (network, asset, payer, nonce),
        CHECK ((state IN ('settling', 'settled')) <= (settlement IS NOT NULL))
      )`);
    await runner.query(`CREATE UNIQUE INDEX authorizations_one_a_payment ON authorizations (payment_id) WHERE state IN ('held', 'settling', 'settled')`);
    await runner.query(`CREATE INDEX authorizations_settling ON authorizations (tried_at) WHERE state = 'settling'`);
    await runner.query('ALTER TABLE payments ADD COLUMN authorization_id uuid');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE payments DROP COLUMN authorization_id');
    await runner.query('DROP TABLE authorizations');
  }
}
