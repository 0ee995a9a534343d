import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The tables that every service has: outbox, inbox, parked events, dead letters, idempotency keys and the payments
 * mode.
 */
export class CreateMessaging1763600000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE outbox (
        id uuid PRIMARY KEY,
        subject text NOT NULL,
        payload jsonb NOT NULL,
        request_id text NOT NULL,
        traceparent text,
        created_at timestamptz NOT NULL DEFAULT now(),
        published_at timestamptz
      )`);
    await runner.query('CREATE INDEX outbox_unpublished ON outbox (id) WHERE published_at IS NULL');
    await runner.query('CREATE INDEX outbox_published ON outbox (published_at) WHERE published_at IS NOT NULL');
    await runner.query(`
      CREATE TABLE inbox (
        subject text NOT NULL,
        event_id uuid NOT NULL,
        received_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (subject, event_id)
      )`);
    await runner.query('CREATE INDEX inbox_received ON inbox (received_at)');
    await runner.query(`
      CREATE TABLE parked_events (
        subject text NOT NULL,
        event_id uuid NOT NULL,
        payload jsonb NOT NULL,
        request_id text NOT NULL,
        error text NOT NULL,
        attempts integer NOT NULL,
        retry_at timestamptz NOT NULL,
        PRIMARY KEY (subject, event_id)
      )`);
    await runner.query('CREATE INDEX parked_events_due ON parked_events (subject, retry_at)');
    await runner.query(`
      CREATE TABLE dead_letters (
        subject text NOT NULL,
        event_id uuid NOT NULL,
        payload jsonb NOT NULL,
        error text NOT NULL,
        failed_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (subject, event_id)
      )`);
    await runner.query(`
      CREATE TABLE idempotency_keys (
        account_id uuid NOT NULL,
        key text NOT NULL,
        fingerprint text NOT NULL,
        answer bytea NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (account_id, key)
      )`);
    await runner.query('CREATE INDEX idempotency_keys_created ON idempotency_keys (created_at)');
    await runner.query(`
      CREATE TABLE payments_mode (
        only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
        mode text NOT NULL CHECK (mode IN ('sandbox', 'live'))
      )`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE payments_mode, idempotency_keys, dead_letters, parked_events, inbox, outbox');
  }
}
