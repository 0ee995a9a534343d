import type { MigrationInterface, QueryRunner } from 'typeorm';

const ROLE = 'market_reputation';

/** Append-only, even for the service's own role. */
const FACTS = [
  'call_facts',
  'subscription_facts',
  'registration_facts',
  'wallet_facts',
  'claim_facts',
  'work_facts',
  'refund_facts',
  'fee_facts',
  'reviews',
];

/**
 * Creates the facts and their sums. `listings`, `accounts`, `trades` and `listing_totals` are derived from the facts
 * and can be rebuilt.
 */
export class CreateReputation1763650300000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await this.createFacts(runner);
    await this.createSums(runner);
    await this.createSumsFromFacts(runner);
    await this.createEvents(runner);
  }

  /** The events of accounts, numbered within each account. */
  private async createEvents(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE TABLE account_event_heads (account_id uuid PRIMARY KEY, last_id bigint NOT NULL)');
    await runner.query(`
      CREATE TABLE account_events (
        account_id uuid NOT NULL,
        id bigint NOT NULL,
        type text NOT NULL,
        at timestamptz NOT NULL,
        data json NOT NULL,
        recorded_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (account_id, id)
      )`);
    await runner.query('CREATE INDEX account_events_recorded ON account_events (recorded_at)');
  }

  private async createFacts(runner: QueryRunner): Promise<void> {
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
    await runner.query(`
      CREATE TABLE subscription_facts (
        subscription_id uuid PRIMARY KEY,
        listing_id uuid NOT NULL,
        seller_id uuid NOT NULL,
        buyer_id uuid NOT NULL,
        gross_micros bigint NOT NULL,
        started_at timestamptz NOT NULL
      )`);
    await runner.query(
      'CREATE TABLE registration_facts (account_id uuid PRIMARY KEY, registered_at timestamptz NOT NULL)',
    );
    await runner.query(`
      CREATE TABLE wallet_facts (
        account_id uuid NOT NULL,
        address text NOT NULL,
        linked_at timestamptz NOT NULL,
        PRIMARY KEY (address, account_id)
      )`);
    await runner.query(`
      CREATE TABLE claim_facts (
        agent_id uuid NOT NULL,
        human_id uuid NOT NULL,
        claimed_at timestamptz NOT NULL,
        PRIMARY KEY (agent_id, human_id)
      )`);
    await runner.query(`
      CREATE TABLE work_facts (
        event_id uuid PRIMARY KEY,
        account_id uuid NOT NULL,
        solve_ms int NOT NULL,
        solved_at timestamptz NOT NULL
      )`);
    await runner.query(`
      CREATE TABLE refund_facts (
        refund_id uuid NOT NULL,
        kind text NOT NULL CHECK (kind IN ('overdue', 'paid')),
        seller_id uuid NOT NULL,
        happened_at timestamptz NOT NULL,
        PRIMARY KEY (refund_id, kind)
      )`);
    await runner.query(`
      CREATE TABLE fee_facts (
        payment_id uuid PRIMARY KEY,
        seller_id uuid NOT NULL,
        received_micros bigint NOT NULL,
        received_at timestamptz NOT NULL
      )`);
    await runner.query(`CREATE INDEX refund_facts_overdue ON refund_facts (seller_id) WHERE kind = 'overdue'`);
    await runner.query('CREATE INDEX work_facts_latest ON work_facts (account_id, solved_at DESC, event_id)');
    await runner.query(`
      CREATE TABLE reviews (
        id uuid PRIMARY KEY,
        listing_id uuid NOT NULL,
        seller_id uuid NOT NULL,
        reviewer_id uuid NOT NULL,
        accuracy_rating smallint NOT NULL CHECK (accuracy_rating BETWEEN 1 AND 5),
        reliability_rating smallint NOT NULL CHECK (reliability_rating BETWEEN 1 AND 5),
        value_rating smallint NOT NULL CHECK (value_rating BETWEEN 1 AND 5),
        title text,
        comment text,
        created_at timestamptz NOT NULL,
        UNIQUE (listing_id, reviewer_id)
      )`);
    await runner.query('CREATE INDEX reviews_newest ON reviews (listing_id, created_at DESC, id DESC)');
    for (const table of FACTS) await runner.query(`REVOKE UPDATE, DELETE, TRUNCATE ON ${table} FROM ${ROLE}`);
  }

  private async createSums(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE listings (
        listing_id uuid PRIMARY KEY,
        version int NOT NULL,
        category_id uuid,
        category_name text,
        category_slug text
      )`);
    await runner.query(`
      CREATE TABLE accounts (
        account_id uuid PRIMARY KEY,
        party_id uuid NOT NULL,
        spent_micros bigint NOT NULL DEFAULT 0,
        earned_micros bigint NOT NULL DEFAULT 0,
        fees_micros bigint NOT NULL DEFAULT 0,
        last_active_at timestamptz
      )`);
    await runner.query('CREATE INDEX accounts_party ON accounts (party_id)');
    await runner.query(`
      CREATE TABLE trades (
        seller_id uuid NOT NULL,
        buyer_id uuid NOT NULL,
        listing_id uuid NOT NULL,
        delivered int NOT NULL,
        failed int NOT NULL,
        subscriptions int NOT NULL,
        paid_micros bigint NOT NULL,
        accuracy_rating smallint,
        reliability_rating smallint,
        value_rating smallint,
        PRIMARY KEY (seller_id, buyer_id, listing_id)
      )`);
    await runner.query('CREATE INDEX trades_of_seller ON trades (seller_id, paid_micros DESC, buyer_id, listing_id)');
    await runner.query('CREATE INDEX trades_of_buyer ON trades (buyer_id, seller_id)');
    await runner.query(`
      CREATE TABLE listing_totals (
        listing_id uuid PRIMARY KEY,
        seller_id uuid NOT NULL,
        delivered int NOT NULL,
        failed int NOT NULL,
        subscriptions int NOT NULL,
        reviews int NOT NULL,
        accuracy_sum int NOT NULL,
        reliability_sum int NOT NULL,
        value_sum int NOT NULL,
        first_at timestamptz NOT NULL,
        last_at timestamptz NOT NULL
      )`);
    await runner.query('CREATE INDEX listing_totals_seller ON listing_totals (seller_id)');
    await runner.query(
      'CREATE TABLE listing_popularity (listing_id uuid PRIMARY KEY, version int NOT NULL, popularity int NOT NULL)',
    );
    // Only inserted into and deleted from: a key would make every sale of a seller wait for the measuring of it.
    await runner.query('CREATE TABLE popularity_due (seller_id uuid NOT NULL)');
  }

  /** Creates views that compute the sums from the facts, to verify and to rebuild the stored ones. */
  private async createSumsFromFacts(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE VIEW trade_events AS
        SELECT seller_id, buyer_id, listing_id, (outcome = 'delivered')::int AS delivered, (outcome = 'failed')::int AS failed,
               0 AS subscriptions, 0 AS reviews, gross_micros AS paid_micros,
               happened_at AS at, NULL::smallint AS accuracy_rating, NULL::smallint AS reliability_rating, NULL::smallint AS value_rating
        FROM call_facts
        UNION ALL SELECT seller_id, buyer_id, listing_id, 0, 0, 1, 0, gross_micros, started_at, NULL, NULL, NULL FROM subscription_facts
        UNION ALL SELECT seller_id, reviewer_id, listing_id, 0, 0, 0, 1, 0, created_at,
               accuracy_rating, reliability_rating, value_rating
        FROM reviews`);
    await runner.query(`
      CREATE VIEW trades_from_facts AS
        SELECT seller_id, buyer_id, listing_id, sum(delivered)::int AS delivered, sum(failed)::int AS failed,
               sum(subscriptions)::int AS subscriptions, sum(paid_micros)::bigint AS paid_micros,
               max(accuracy_rating) AS accuracy_rating, max(reliability_rating) AS reliability_rating, max(value_rating) AS value_rating
        FROM trade_events GROUP BY seller_id, buyer_id, listing_id`);
    await runner.query(`
      CREATE VIEW listing_totals_from_facts AS
        SELECT listing_id, seller_id, sum(delivered)::int AS delivered, sum(failed)::int AS failed,
               sum(subscriptions)::int AS subscriptions, sum(reviews)::int AS reviews,
               coalesce(sum(accuracy_rating), 0)::int AS accuracy_sum, coalesce(sum(reliability_rating), 0)::int AS reliability_sum,
               coalesce(sum(value_rating), 0)::int AS value_sum,
               min(at) AS first_at, max(at) AS last_at
        FROM trade_events GROUP BY listing_id, seller_id`);
    await runner.query(`
      CREATE VIEW accounts_from_facts AS
        SELECT account_id, sum(spent)::bigint AS spent_micros, sum(earned)::bigint AS earned_micros,
               sum(fees)::bigint AS fees_micros, max(at) AS last_active_at
        FROM (
          SELECT buyer_id AS account_id, paid_micros AS spent, 0 AS earned, 0 AS fees, at FROM trade_events
          UNION ALL SELECT seller_id, 0, paid_micros, 0, CASE WHEN reviews = 0 THEN at END FROM trade_events
          UNION ALL SELECT seller_id, 0, 0, received_micros, NULL FROM fee_facts
          UNION ALL SELECT account_id, 0, 0, 0, registered_at FROM registration_facts
          UNION ALL SELECT account_id, 0, 0, 0, solved_at FROM work_facts
          UNION ALL SELECT account_id, 0, 0, 0, NULL FROM wallet_facts
          UNION ALL SELECT agent_id, 0, 0, 0, NULL FROM claim_facts
          UNION ALL SELECT human_id, 0, 0, 0, NULL FROM claim_facts
        ) facts GROUP BY account_id`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP VIEW accounts_from_facts, listing_totals_from_facts, trades_from_facts, trade_events');
    await runner.query(
      `DROP TABLE account_events, account_event_heads, popularity_due, listing_popularity,
         listing_totals, trades, accounts, listings, ${FACTS.join(', ')}`,
    );
  }
}
