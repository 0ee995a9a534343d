import type { MigrationInterface, QueryRunner } from 'typeorm';

const ROLE = 'market_payments_ledger';

export class CreateSubscriptions1763670000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await letPaymentsBeForSubscriptions(runner);
    await createSubscriptions(runner);
    await letUnpaidOffersGo(runner);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TRIGGER payments_keep_money ON payments');
    await runner.query('DROP FUNCTION refuse_forgetting_money');
    await runner.query(`REVOKE DELETE ON payments FROM ${ROLE}`);
    await runner.query('DROP INDEX payments_unpaid_since, payments_completed_by_buyer, payments_live_subscription');
    await runner.query('DROP TABLE subscriptions');
    await runner.query('ALTER TABLE receipts DROP CONSTRAINT receipts_of_call_whole, ALTER COLUMN request_digest SET NOT NULL, ALTER COLUMN response_digest SET NOT NULL, ALTER COLUMN seller_status_code SET NOT NULL');
    await runner.query(
      'ALTER TABLE payments DROP CONSTRAINT payments_purpose_whole, ALTER COLUMN gateway_request_id SET NOT NULL, ALTER COLUMN body_digest SET NOT NULL, DROP COLUMN purpose, DROP COLUMN pricing_model',
    );
  }
}

/** A payment is for a call, with its request, or for a period of a subscription, with the model it was sold under. */
async function letPaymentsBeForSubscriptions(runner: QueryRunner): Promise<void> {
  await runner.query(`
    ALTER TABLE payments
      ADD COLUMN purpose text NOT NULL DEFAULT 'call',
      ADD COLUMN pricing_model text,
      ALTER COLUMN gateway_request_id DROP NOT NULL,
      ALTER COLUMN body_digest DROP NOT NULL,
      ADD CONSTRAINT payments_purpose_whole CHECK (CASE purpose
        WHEN 'call' THEN gateway_request_id IS NOT NULL AND body_digest IS NOT NULL AND pricing_model IS NULL
        WHEN 'subscription' THEN gateway_request_id IS NULL AND body_digest IS NULL AND pricing_model IN ('monthly', 'yearly', 'usage_tiered') AND state <> 'in_flight'
        ELSE false END)`);
  await runner.query(`
    ALTER TABLE receipts
      ALTER COLUMN request_digest DROP NOT NULL,
      ALTER COLUMN response_digest DROP NOT NULL,
      ALTER COLUMN seller_status_code DROP NOT NULL,
      ADD CONSTRAINT receipts_of_call_whole CHECK ((request_digest IS NULL) = (response_digest IS NULL) AND (request_digest IS NULL) = (seller_status_code IS NULL))`);
  await runner.query(`
    CREATE INDEX payments_live_subscription ON payments (buyer_id, listing_id)
    WHERE purpose = 'subscription' AND state IN ('pending', 'underpaid', 'verified', 'in_flight', 'indeterminate')`);
  await runner.query(`CREATE INDEX payments_completed_by_buyer ON payments (buyer_id, listing_id, completed_at) WHERE state = 'completed' AND purpose = 'call'`);
}

async function createSubscriptions(runner: QueryRunner): Promise<void> {
  await runner.query(`
    CREATE TABLE subscriptions (
      id uuid PRIMARY KEY,
      consumer_id uuid NOT NULL,
      seller_id uuid NOT NULL CHECK (seller_id <> consumer_id),
      listing_id uuid NOT NULL,
      listing_name text NOT NULL,
      listing_slug text NOT NULL,
      pricing_model text NOT NULL CHECK (pricing_model IN ('free', 'monthly', 'yearly', 'usage_tiered')),
      price_micros bigint NOT NULL CHECK (price_micros >= 0),
      payment_id uuid UNIQUE REFERENCES payments (id),
      status text NOT NULL CHECK (status IN ('active', 'cancelled', 'expired')),
      created_at timestamptz NOT NULL,
      current_period_end timestamptz,
      ended_at timestamptz,
      CONSTRAINT subscriptions_paid_whole CHECK ((payment_id IS NULL) = (price_micros = 0) AND (payment_id IS NULL) = (current_period_end IS NULL)),
      CONSTRAINT subscriptions_end_whole CHECK ((status = 'active') = (ended_at IS NULL))
    )`);
  await runner.query(`CREATE UNIQUE INDEX subscriptions_one_active ON subscriptions (consumer_id, listing_id) WHERE status = 'active'`);
  await runner.query('CREATE INDEX subscriptions_of_consumer ON subscriptions (consumer_id, created_at DESC, id DESC)');
  await runner.query('CREATE INDEX subscriptions_of_listing ON subscriptions (consumer_id, listing_id, created_at DESC)');
  await runner.query(`CREATE INDEX subscriptions_period_end ON subscriptions (current_period_end) WHERE status = 'active' AND current_period_end IS NOT NULL`);
  await runner.query(`REVOKE DELETE, TRUNCATE ON subscriptions FROM ${ROLE}`);
}

/** Offers that brought nothing may be forgotten one day; a payment that money came for never is. */
async function letUnpaidOffersGo(runner: QueryRunner): Promise<void> {
  await runner.query(`CREATE INDEX payments_unpaid_since ON payments (expires_at, id) WHERE state IN ('expired', 'failed', 'cancelled')`);
  await runner.query(`
    CREATE FUNCTION refuse_forgetting_money() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF OLD.state NOT IN ('expired', 'failed', 'cancelled') OR OLD.received_base_units > 0 THEN
        RAISE EXCEPTION 'payment % is not one that came to nothing', OLD.id USING ERRCODE = 'insufficient_privilege';
      END IF;
      RETURN OLD;
    END $$`);
  await runner.query('CREATE TRIGGER payments_keep_money BEFORE DELETE ON payments FOR EACH ROW EXECUTE FUNCTION refuse_forgetting_money()');
  await runner.query(`GRANT DELETE ON payments TO ${ROLE}`);
}
