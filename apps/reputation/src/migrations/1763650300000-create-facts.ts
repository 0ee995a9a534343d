import type { MigrationInterface, QueryRunner } from 'typeorm';

const ROLE = 'market_reputation';

export class CreateFacts1763650300000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE call_facts (
        event_id uuid PRIMARY KEY,
        outcome text NOT NULL CHECK (outcome IN ('delivered', 'failed')),
        gateway_request_id uuid NOT NULL,
        listing_id uuid NOT NULL,
        seller_id uuid NOT NULL,
        buyer_id uuid NOT NULL,
        gross_micros bigint NOT NULL,
        seller_status_code int NOT NULL,
        latency_ms int NOT NULL,
        failure_reason text,
        happened_at timestamptz NOT NULL,
        CHECK ((outcome = 'failed') = (failure_reason IS NOT NULL)),
        CHECK (outcome = 'delivered' OR gross_micros = 0)
      )`);
    await runner.query('CREATE INDEX call_facts_seller ON call_facts (seller_id, happened_at)');
    await runner.query(`REVOKE UPDATE, DELETE, TRUNCATE ON call_facts FROM ${ROLE}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE call_facts');
  }
}
