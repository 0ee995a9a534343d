import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreateGateway1763650100000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE endpoints (
        listing_id uuid PRIMARY KEY,
        seller_id uuid NOT NULL,
        url_sealed bytea NOT NULL,
        url_digest bytea NOT NULL CHECK (length(url_digest) = 32),
        url_host text NOT NULL,
        auth_header_name text,
        auth_header_sealed bytea,
        timeout_ms int NOT NULL,
        max_request_bytes int NOT NULL,
        max_response_bytes int NOT NULL,
        max_concurrency int NOT NULL,
        requests_per_minute int,
        paused boolean NOT NULL DEFAULT false,
        health text NOT NULL DEFAULT 'unverified' CHECK (health IN ('unverified', 'active', 'failing')),
        failed_calls uuid[] NOT NULL DEFAULT '{}',
        failed_buyers uuid[] NOT NULL DEFAULT '{}',
        probe_at timestamptz,
        last_test_at timestamptz,
        last_test_ok boolean,
        last_test_status_code int,
        last_test_latency_ms int,
        version int NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        CHECK ((auth_header_name IS NULL) = (auth_header_sealed IS NULL)),
        CHECK (health <> 'failing' OR probe_at IS NOT NULL)
      )`);
    await runner.query(
      'CREATE INDEX endpoints_probed ON endpoints (probe_at) WHERE probe_at IS NOT NULL AND NOT paused',
    );
    await runner.query(`
      CREATE TABLE endpoint_secrets (
        key_id text PRIMARY KEY,
        listing_id uuid NOT NULL REFERENCES endpoints (listing_id) ON DELETE CASCADE,
        secret_sealed bytea NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        expires_at timestamptz
      )`);
    await runner.query('CREATE INDEX endpoint_secrets_listing ON endpoint_secrets (listing_id)');
    await runner.query(
      'CREATE UNIQUE INDEX endpoint_secrets_one_current ON endpoint_secrets (listing_id) WHERE expires_at IS NULL',
    );
    await runner.query(`
      CREATE TABLE gateway_requests (
        id uuid PRIMARY KEY,
        buyer_id uuid NOT NULL,
        seller_id uuid NOT NULL,
        listing_id uuid NOT NULL,
        listing_name text NOT NULL,
        listing_slug text NOT NULL,
        status text NOT NULL CHECK (status IN (
          'payment_required', 'payment_pending', 'paid', 'forwarding', 'succeeded', 'seller_failed', 'seller_refused', 'refunded')),
        body_digest bytea NOT NULL,
        gross_micros bigint NOT NULL,
        fee_micros bigint NOT NULL,
        net_micros bigint NOT NULL,
        fee_bps int NOT NULL,
        payment_id uuid,
        relay_request_id text,
        provider text,
        scheme text,
        network text,
        transaction_hash text,
        offer_expires_at timestamptz,
        attempts int NOT NULL DEFAULT 0,
        forwarding_until timestamptz,
        billable boolean,
        seller_status_code int,
        latency_ms int,
        error_code text,
        failed_attempts jsonb NOT NULL DEFAULT '[]',
        result_json text,
        response_digest bytea,
        created_at timestamptz NOT NULL DEFAULT now(),
        completed_at timestamptz,
        settled_at timestamptz,
        refund_transaction_hash text
      )`);
    await runner.query('CREATE INDEX gateway_requests_buyer ON gateway_requests (buyer_id, created_at DESC, id DESC)');
    await runner.query(
      'CREATE INDEX gateway_requests_seller ON gateway_requests (seller_id, created_at DESC, id DESC)',
    );
    await runner.query(
      'CREATE INDEX gateway_requests_unsettled ON gateway_requests (completed_at) WHERE billable AND settled_at IS NULL',
    );
    await runner.query(
      `CREATE INDEX gateway_requests_unpaid ON gateway_requests (offer_expires_at)
       WHERE status = 'payment_required' AND completed_at IS NULL`,
    );
    await runner.query(
      'CREATE INDEX gateway_requests_kept_results ON gateway_requests (completed_at) WHERE result_json IS NOT NULL',
    );
    await runner.query(`
      CREATE TABLE call_keys (
        account_id uuid NOT NULL,
        key text NOT NULL,
        fingerprint bytea NOT NULL,
        gateway_request_id uuid,
        created_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (account_id, key)
      )`);
    await runner.query('CREATE INDEX call_keys_created ON call_keys (created_at)');
    // The evidence of one buyer's calls of a listing in one day. The buyer id of the marketplace's own tests is zero.
    await runner.query(`
      CREATE TABLE call_evidence (
        listing_id uuid NOT NULL,
        day date NOT NULL,
        buyer_id uuid NOT NULL,
        delivered int NOT NULL,
        failed_calls uuid[] NOT NULL,
        latencies_ms int[] NOT NULL,
        PRIMARY KEY (listing_id, day, buyer_id)
      )`);
    await runner.query(`
      CREATE TABLE listing_quality (
        listing_id uuid PRIMARY KEY,
        version int NOT NULL DEFAULT 0,
        last_success_at timestamptz,
        measured json,
        measured_at timestamptz,
        due_at timestamptz
      )`);
    await runner.query('CREATE INDEX listing_quality_due ON listing_quality (due_at) WHERE due_at IS NOT NULL');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      'DROP TABLE listing_quality, call_evidence, call_keys, gateway_requests, endpoint_secrets, endpoints',
    );
  }
}
