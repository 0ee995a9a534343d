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
        max_response_bytes int,
        idle_timeout_ms int NOT NULL DEFAULT 30000,
        stream_timeout_ms int NOT NULL DEFAULT 600000,
        job_deadline_seconds int,
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
        removed_at timestamptz,
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
        usage jsonb,
        units bigint,
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
        content_id uuid,
        content_type text,
        content_size int,
        created_at timestamptz NOT NULL DEFAULT now(),
        completed_at timestamptz,
        settled_at timestamptz,
        is_broken boolean NOT NULL DEFAULT false,
        job_until timestamptz,
        refund_transaction_hash text
      )`);
    await runner.query('CREATE INDEX gateway_requests_buyer ON gateway_requests (buyer_id, created_at DESC, id DESC)');
    await runner.query(
      'CREATE INDEX gateway_requests_seller ON gateway_requests (seller_id, created_at DESC, id DESC)',
    );
    await runner.query(
      `CREATE INDEX gateway_requests_unsettled ON gateway_requests (completed_at)
       WHERE (billable OR is_broken) AND settled_at IS NULL`,
    );
    await runner.query(
      `CREATE INDEX gateway_requests_not_charged ON gateway_requests (relay_request_id)
       WHERE is_broken OR (units IS NOT NULL AND gross_micros = 0)`,
    );
    await runner.query(
      `CREATE INDEX gateway_requests_unpaid ON gateway_requests (offer_expires_at)
       WHERE status = 'payment_required' AND completed_at IS NULL`,
    );
    await runner.query(
      'CREATE INDEX gateway_requests_kept_results ON gateway_requests (completed_at) WHERE result_json IS NOT NULL',
    );
    await runner.query(
      'CREATE INDEX gateway_requests_jobs ON gateway_requests (job_until) WHERE job_until IS NOT NULL',
    );
    await runner.query(
      `CREATE INDEX gateway_requests_jobs_of_listing ON gateway_requests (listing_id, buyer_id, relay_request_id)
       WHERE job_until IS NOT NULL`,
    );
    await this.createJobs(runner);
    // The files and streams that calls were answered with. One that no call was answered with expires soon. A stream is
    // open as long as its process says so.
    await runner.query(`
      CREATE TABLE contents (
        id uuid PRIMARY KEY,
        call_id uuid NOT NULL,
        buyer_id uuid NOT NULL,
        seller_id uuid NOT NULL,
        size bigint NOT NULL,
        lock_name text,
        attempt int,
        open_until timestamptz,
        expires_at timestamptz NOT NULL
      )`);
    await runner.query('CREATE INDEX contents_streams ON contents (lock_name) WHERE open_until IS NOT NULL');
    await runner.query('CREATE INDEX contents_buyer ON contents (buyer_id) INCLUDE (size)');
    await runner.query('CREATE INDEX contents_seller ON contents (seller_id) INCLUDE (size)');
    await runner.query('CREATE INDEX contents_expired ON contents (expires_at)');
    await runner.query(`
      CREATE TABLE content_chunks (
        content_id uuid NOT NULL REFERENCES contents (id) ON DELETE CASCADE,
        starts_at bigint NOT NULL,
        sealed bytea,
        PRIMARY KEY (content_id, starts_at)
      )`);
    // Without bytes, they are an object of GATEWAY_STORE_URL. Encrypted bytes cannot be compressed.
    await runner.query('ALTER TABLE content_chunks ALTER COLUMN sealed SET STORAGE EXTERNAL');
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
    await this.createWebhooks(runner);
  }

  /**
   * The calls that a seller has taken as jobs. One is open as long as `job_until` of its call is set. `due_at` is when
   * its seller is asked for it, and `cancel_due_at` when the seller is told that its buyer asks to cancel it.
   */
  private async createJobs(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE jobs (
        call_id uuid PRIMARY KEY,
        listing_id uuid NOT NULL,
        seller_id uuid NOT NULL,
        file_types text[] NOT NULL,
        is_held boolean NOT NULL,
        accepted_at timestamptz NOT NULL DEFAULT now(),
        deadline_at timestamptz NOT NULL,
        estimated_at timestamptz,
        percent float8,
        message text,
        progress_at timestamptz,
        told_at timestamptz,
        status_url_sealed bytea,
        due_at timestamptz,
        refusals int NOT NULL DEFAULT 0,
        cancelled_at timestamptz,
        cancel_due_at timestamptz
      )`);
    await runner.query('CREATE INDEX jobs_accepted ON jobs (accepted_at)');
    await runner.query('CREATE INDEX jobs_due ON jobs (due_at) WHERE due_at IS NOT NULL');
    await runner.query('CREATE INDEX jobs_to_cancel ON jobs (cancel_due_at) WHERE cancel_due_at IS NOT NULL');
  }

  /** A webhook is due when it may have something to send. The process that has its lease sends all of it. */
  private async createWebhooks(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE webhooks (
        id uuid PRIMARY KEY,
        account_id uuid NOT NULL,
        url_sealed bytea NOT NULL,
        description text,
        event_types text[],
        status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'paused', 'disabled')),
        disabled_reason text CHECK (disabled_reason IN ('failing', 'gone')),
        secret_sealed bytea NOT NULL,
        previous_secret_sealed bytea,
        previous_secret_expires_at timestamptz,
        last_event_id bigint NOT NULL,
        due_at timestamptz NOT NULL DEFAULT now(),
        leased_until timestamptz NOT NULL DEFAULT now(),
        enabled_at timestamptz NOT NULL DEFAULT now(),
        last_success_at timestamptz,
        last_failure_at timestamptz,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        CHECK ((status = 'disabled') = (disabled_reason IS NOT NULL)),
        CHECK ((previous_secret_sealed IS NULL) = (previous_secret_expires_at IS NULL))
      )`);
    // To the webhooks of these accounts nothing is sent.
    await runner.query(`
      CREATE TABLE account_suspensions (
        account_id uuid PRIMARY KEY,
        version int NOT NULL,
        is_suspended boolean NOT NULL
      )`);
    await runner.query('CREATE INDEX webhooks_account ON webhooks (account_id, id)');
    await runner.query(`CREATE INDEX webhooks_due ON webhooks (due_at) WHERE status = 'active'`);
    await runner.query(`
      CREATE TABLE webhook_deliveries (
        id uuid PRIMARY KEY,
        webhook_id uuid NOT NULL,
        event_id bigint NOT NULL,
        body text NOT NULL,
        status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed')),
        tries int NOT NULL DEFAULT 0,
        attempts jsonb NOT NULL DEFAULT '[]',
        due_at timestamptz NOT NULL DEFAULT now(),
        started_at timestamptz NOT NULL DEFAULT now(),
        created_at timestamptz NOT NULL DEFAULT now(),
        UNIQUE (webhook_id, event_id)
      )`);
    await runner.query(
      `CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, due_at) WHERE status = 'pending'`,
    );
    await runner.query('CREATE INDEX webhook_deliveries_created ON webhook_deliveries (created_at)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      `DROP TABLE webhook_deliveries, webhooks, account_suspensions, listing_quality, call_evidence, call_keys,
         content_chunks, contents, jobs, gateway_requests, endpoint_secrets, endpoints`,
    );
  }
}
